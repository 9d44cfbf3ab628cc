"""^C ends zazenctl push with the frames under way: all are whole, the result says how many arrived, and
the same command goes on from there."""
import json
import signal

from network import Nodes, begin_push, check_copies, expect, held, listen, make_key, wait_for_rest, wait_until

FRAMES, SIZE = 1_800, 6_000  # more than are under way at a time

with Nodes(3) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    key = make_key(nodes)
    for node in nodes:
        listen(node, [data], key, 'max_rate = "1MB"\n')

    push = begin_push(nodes, data)
    wait_until(lambda: all(held(nodes, key, data)), "frames on every node")
    push.signal(signal.SIGINT)
    stopped = push.finish(60)
    expect(stopped.status == -signal.SIGINT, f"ended by the signal: {stopped}")
    figures = json.loads(stopped.stdout)
    expect(figures["stopped"] and figures["failed"] == 0, f"{figures}")
    for node in nodes:
        wait_for_rest(node)
    arrived = sum(len(frames) for frames in held(nodes, key, data))
    expect(figures["pushed"] <= arrived <= figures["pushed"] + figures["unanswered"],
           f"{figures}: {arrived} arrived")
    expect(arrived < FRAMES, f"{figures}: it was stopped")
    check_copies(nodes, data)

    done = begin_push(nodes, data).finish(100).succeeded()
    figures = json.loads(done.stdout)
    expect(figures["skipped"] == arrived, f"{figures}: what is there is left alone")
    expect(figures["pushed"] == FRAMES - arrived, f"{figures}")
    check_copies(nodes, data)
