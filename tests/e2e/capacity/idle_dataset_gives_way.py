"""A cache that is full of a dataset that nobody reads takes in the next dataset. Natives stay."""
from nodes import Nodes
from processes import expect, wait_until

FRAMES, SIZE = 64, 1000
IDLE_FILLS = 256  # daemon/capacity/eviction.h

with Nodes(1) as nodes:
    old = nodes.dataset(frames=FRAMES, name="old", sizes=(SIZE,), ordinary=False)
    new = nodes.dataset(frames=FRAMES, name="new", sizes=(SIZE,), ordinary=False)
    pushed = nodes.dataset(frames=4, name="pushed", sizes=(SIZE,), ordinary=False)
    nodes.configure(f"capacity = {(FRAMES + 4) * SIZE}\n")
    node = nodes[0]
    node.start()
    nodes.push(pushed)

    def read(data):
        done = nodes.serial(node, ["cat", *(data.file(name) for name in sorted(data.frames))])
        done.succeeded()
        node.settle()

    read(old)
    expect(node.held(old) == FRAMES, "the first dataset fills the cache")
    for _ in range(IDLE_FILLS // FRAMES):
        read(new)
    # The daemon looks at the fills about once a second.

    def reads_new_until_it_is_held():
        read(new)
        return node.held(new) == FRAMES
    wait_until(reads_new_until_it_is_held, "the second dataset to take its place")
    expect(node.held(old) == 0, f"{node.held(old)} of the first are left")
    expect(node.held(pushed, "native") == 4, "natives do not give way to aliens")
    expect(node.status()["used_bytes"] <= (FRAMES + 4) * SIZE, "over the capacity")
