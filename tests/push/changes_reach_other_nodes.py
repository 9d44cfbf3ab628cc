"""All nodes drop a frame that is changed through one node's shim, over TCP and on one machine.
Frames that have not changed stay."""
import hashlib
import os

from changed_frames import (CHANGES, KEYS, SIZE, Nodes, change, expect, explain, has_copy, origin_of,
                            start_nodes, wait_for_drop)

for over_tcp in (True, False):
    with Nodes(3) as nodes:
        data = nodes.dataset(frames=len(CHANGES) + 2, sizes=(SIZE,), keys=KEYS)
        start_nodes(nodes, over_tcp)
        made = f"f{list(CHANGES).index('make')}"  # n0 has no copy of it that could be in the way
        for node in nodes:
            nodes.warm(node, data, sorted(data.frames - ({made} if node is nodes[0] else set())))
        slowest = 0
        for seq, how in enumerate(CHANGES):
            name = f"f{seq}"
            if how == "make":
                os.unlink(data.file(name))
            changed_at = change(nodes, nodes[0], data, name, how)
            for node in nodes[1:]:
                took = wait_for_drop(node, data, name, changed_at)
                slowest = max(slowest, took)
                why = explain(node, data, name)["dropped"]["why"]
                expect(why.startswith("node n0 reported that it was "), f"{how}: {why}")
            for node in nodes:
                done = nodes.serial(node, ["sha256sum", data.file(name)])
                content = origin_of(data, name)
                expected = hashlib.sha256(content).hexdigest() if content is not None else ""
                expect(done.stdout[:64] == expected, f"{how}: {node.name} reads other bytes: {done}")
        for node in nodes:
            for seq in (len(CHANGES), len(CHANGES) + 1):
                expect(has_copy(node, data, f"f{seq}"), f"{node.name} has dropped f{seq}, which nobody changed")
        print(f"{'TCP' if over_tcp else 'unix'}: the slowest copy went {slowest:.3f} s after its frame was changed")
