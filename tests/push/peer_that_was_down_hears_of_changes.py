"""A node was down while a frame was changed through another one's shim. It drops its copy when it
is back, although it stopped cleanly and trusts its copies. If the other daemon was killed
meanwhile, and has lost its notices, the node compares all its copies."""
from changed_frames import (KEYS, SIZE, Nodes, change, expect, explain, has_copy, start_nodes, time,
                            wait_for_drop)

for over_tcp in (True, False):
    with Nodes(2) as nodes:
        data = nodes.dataset(frames=4, sizes=(SIZE,), keys=KEYS)
        start_nodes(nodes, over_tcp)
        writer, reader = nodes
        nodes.warm(reader, data, sorted(data.frames))

        reader.stop()
        change(nodes, writer, data, "f0", "write")
        expect(has_copy(reader, data, "f0"), "somebody else dropped it: no test")
        reader.start()
        wait_for_drop(reader, data, "f0", time.monotonic())
        why = explain(reader, data, "f0")["dropped"]["why"]
        expect(why == "node n0 reported that it was changed", why)
        expect(reader.status()["changes"]["doubts"] == 0, "it knew the other daemon from before")

        reader.stop()
        change(nodes, writer, data, "f1", "truncate")
        writer.kill()
        writer.start()
        expect(has_copy(reader, data, "f1"), "somebody else dropped it: no test")
        reader.start()
        wait_for_drop(reader, data, "f1", time.monotonic())
        why = explain(reader, data, "f1")["dropped"]["why"]
        expect(why == "it differed from the origin", why)
        expect(reader.status()["changes"]["doubts"] == 1, reader.status()["changes"])
        expect(has_copy(reader, data, "f2"), "a frame that nobody changed was dropped")
