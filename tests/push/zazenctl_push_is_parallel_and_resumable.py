"""zazenctl push over TCP serves all nodes at once. ^C leaves whole frames and the next run goes on.
The frames of a node that dies midway go to the others."""
import json
import signal

from network import Nodes, expect, listen, make_key, natives, wait_for_rest, wait_until
from nodes import ZAZENCTL
from processes import Process

FRAMES, SIZE = 60, 300_000

with Nodes(3) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    key = make_key(nodes)
    for node in nodes:
        listen(node, [data], key, 'max_rate = "1MB"\n')
    wanted = sorted(int(name[1:]) for name in data.frames)

    def held(*of):
        return [natives(nodes, node.address, key, data) for node in of or nodes]

    def begin():
        words = [word for node in nodes for word in ("--to", node.address)]
        return Process([ZAZENCTL, "--config", nodes[0].config, "push", data.path, "--json", *words],
                       nodes.env)

    def check_copies():
        for node in nodes:
            for name in node.copies(data):
                with open(node.cache + data.file(name), "rb") as copy, open(data.file(name), "rb") as origin:
                    expect(copy.read() == origin.read(), f"{name}: its bytes")

    # Each node takes 1 MB/s, 3 frames, after the first second's worth: one after the other would
    # have some of them empty while another has more than it takes at once.
    push = begin()
    wait_until(lambda: all(len(frames) >= 2 for frames in held()), "frames on every node")
    expect(push.running(), "at its beginning all nodes have frames")
    push.signal(signal.SIGINT)
    stopped = push.finish(60)
    expect(stopped.status == -signal.SIGINT, f"ended by the signal: {stopped}")
    figures = json.loads(stopped.stdout)
    expect(figures["stopped"] and figures["failed"] == 0, f"{figures}")
    expect(figures["pushed"] < FRAMES, f"{figures}")
    # Frames that were under way when it was stopped may still arrive.
    for node in nodes:
        wait_for_rest(node)
    pushed = sum(len(frames) for frames in held())
    expect(figures["pushed"] <= pushed < FRAMES, f"{figures}: what was answered is there")
    check_copies()

    # It goes on, and one node is killed.
    before = len(held(nodes[1])[0])
    push = begin()
    wait_until(lambda: len(held(nodes[1])[0]) > before, "more frames on the second node")
    nodes[1].kill()
    done = push.finish(100).succeeded()
    figures = json.loads(done.stdout)
    expect(figures["failed"] == 0 and not figures["stopped"], f"{done}")
    expect(figures["skipped"] >= pushed, f"{figures}: what is there is left alone")
    expect(figures["pushed"] + figures["skipped"] == FRAMES, f"{figures}")
    expect("passed over" in done.stderr, done.stderr)
    expect(not figures["nodes"][1]["reachable"], f"{figures}")

    nodes[1].start()
    everything = sorted(set(sum(held(), [])))
    expect(everything == wanted, "each frame is on some node")
    check_copies()
    again = nodes[0].ctl("push", data.path, *[w for n in nodes for w in ("--to", n.address)])
    expect(f"{FRAMES} already there" in again.succeeded().stdout, f"{again}")
