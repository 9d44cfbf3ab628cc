"""A frame that is read while a simulation still writes it is never served half afterwards."""
from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=4)
    nodes.start()
    node = nodes[0]
    with open(data.file("f2"), "w") as frame:
        frame.write("whole frame\n")
    nodes.warm(node, data, ["f1", "f2"])
    with open(data.file("f0"), "wb") as frame:
        frame.write(b"first half, ")
        frame.flush()
        # A reader comes between two writes; its miss must not fill the cache with half a frame.
        nodes.serial(node, ["cat", data.file("f0")]).succeeded()
        nodes.warm(node, data, ["f3"])  # asked for later, and there
        expect("f0" not in node.copies(data), "half a frame was copied")
        frame.write(b"second half")
    for turn in ("first", "second"):
        # The first open of a process is compared in any case; so another frame goes first.
        shown = nodes.serial(node, ["tail", "-qn1", data.file("f2"), data.file("f0")])
        expect(shown.stdout == "whole frame\nfirst half, second half", f"{turn} read: {shown}")
