"""A daemon starts with the cache that another version has filled, in both directions. Its programs read the right
bytes. The copies count as stale, so the frames come into the cache once more."""
from nodes import Nodes
from processes import expect
from versions import BOTH_WAYS

for before, after in BOTH_WAYS:
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=12, sizes=(5000,))
        (node,) = nodes
        with before.used():
            nodes.start()
            nodes.push(data)
            node.stop()
        with after.used():
            node.start()
            for _ in range(2):
                done = nodes.mpirun("list_and_read_c", data, ranks=2)
                done.check_exactly_once()
                node.settle()
            node.wait_for_copies(data, data.frames)
            nodes.mpirun("list_and_read_c", data, ranks=2).check_exactly_once()
            expect("event=stale_copies" in node.said(), "the log does not say that copies were stale")
            expect(node.status()["hits"] >= len(data.frames), "nothing was read from the cache again")
