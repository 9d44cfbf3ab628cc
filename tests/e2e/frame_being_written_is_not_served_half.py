"""A frame that is read while a simulation still writes it is never served half afterwards."""
from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=4)
    nodes.start()
    node = nodes[0]
    # The sample of a first use is over; it must not be what saves us.
    nodes.warm(node, data, ["f1"])
    with open(data.file("f0"), "wb") as frame:
        frame.write(b"first half, ")
        frame.flush()
        # A reader comes between two writes; its miss fills the cache with half a frame.
        nodes.warm(node, data, ["f0"])
        frame.write(b"second half")
    for turn in ("first", "second"):
        shown = nodes.serial(node, ["cat", data.file("f0")])
        expect(shown.stdout == "first half, second half", f"{turn} read: {shown}")
