"""zazenctl push over TCP serves all nodes at once. The frames of a node that dies midway go to the others."""
import json

from network import Nodes, begin_push, check_copies, expect, held, listen, make_key, wait_until

FRAMES, SIZE = 60, 300_000

with Nodes(3) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    key = make_key(nodes)
    for node in nodes:
        listen(node, [data], key, 'max_rate = "1MB"\n')

    # Each node takes 1 MB/s, 3 frames, after a first burst of a second. If the pushes were sequential, one node
    # would be empty while another one has more than its burst.
    push = begin_push(nodes, data)
    wait_until(lambda: all(len(frames) >= 2 for frames in held(nodes, key, data)), "frames on every node")
    expect(push.running(), "at its beginning all nodes have frames")
    nodes[1].kill()
    done = push.finish(100).succeeded()
    figures = json.loads(done.stdout)
    expect(figures["failed"] == 0 and not figures["stopped"], f"{done}")
    expect(figures["pushed"] == FRAMES, f"{figures}")
    expect("passed over" in done.stderr, done.stderr)
    expect(not figures["nodes"][1]["reachable"], f"{figures}")

    nodes[1].start()
    everything = sorted(set(sum(held(nodes, key, data), [])))
    expect(everything == sorted(int(name[1:]) for name in data.frames), "each frame is on some node")
    check_copies(nodes, data)
    again = nodes[0].ctl("push", data.path, *[w for n in nodes for w in ("--to", n.address)])
    expect(f"{FRAMES} already there" in again.succeeded().stdout, f"{again}")
