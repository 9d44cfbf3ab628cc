"""With fill = "wait" the copy is there when the first open returns."""
from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, keys='fill = "wait"')
    nodes.start()
    for name in sorted(data.frames):
        copy = nodes[0].cache + data.file(name)
        compare = ["sh", "-c", 'exec < "$0"; cmp - "$1"', data.file(name), copy]
        shown = nodes.serial(nodes[0], compare)
        expect(shown.status == 0, f"{name}: {shown}")
    expect(nodes.held(data, "alien") == 8, "the copies are aliens")
