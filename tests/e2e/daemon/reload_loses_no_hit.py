"""While a program reads, the configuration is reloaded 20 times. Each of its opens of a dataset
that stays is a hit, and an added dataset is served to the running program."""
import json
import os
import signal

from nodes import Nodes, program
from processes import Process, expect, wait_until

RELOADS = 20


def figures(node, data):
    found = [d for d in node.status()["datasets"] if d["path"] == data.path]
    return (found[0]["hits"], found[0]["misses"]) if found else (0, 0)


def reload(nodes, node, datasets, capacity):
    node.configure(datasets, f"capacity = {capacity}\n")
    node.signal(signal.SIGHUP)
    wait_until(lambda: node.status()["capacity_bytes"] == capacity, "the reload")


with Nodes(1) as nodes:
    node = nodes[0]
    stays, comes = (nodes.dataset(frames=8, name=name, ordinary=False)
                    for name in ("stays", "comes"))
    nodes.start()
    for data in (stays, comes):
        nodes.push(data)
    hits, misses = figures(node, stays)
    expect(misses == 0, "nothing was read yet")

    # Under the shim only from here on: it gets the dataset that comes when it is there again.
    reload(nodes, node, [stays], 10**9)
    env = dict(nodes.env, **nodes.shim(node))
    reader = Process([*program("read_until_told.py"), stays.path, comes.path, nodes.directory], env)
    nodes.running.append(reader)
    wait_until(lambda: not reader.running() or os.path.exists(nodes.path("started")),
               "the reader to have read all once")
    for i in range(RELOADS):
        before, _ = figures(node, comes)
        there = i % 2 == 0
        reload(nodes, node, [stays, comes] if there else [stays], 10**9 + i + 1)
        if there:
            wait_until(lambda: figures(node, comes)[0] > before, "hits of the dataset that came")
    open(nodes.path("stop"), "w").close()
    nodes.running.remove(reader)
    done = reader.finish().succeeded()
    said = json.loads(done.stdout)
    opens = said["opens"][stays.path]
    expect(opens > 0 and said["opens"][comes.path] > 0, f"it has read: {said}")
    expect(said["changed"] == 0, f"{said['changed']} reads had other bytes")
    for data in (stays, comes):
        for name, right in data.sums.items():
            expect(tuple(said["sums"][data.file(name)]) == right, f"wrong bytes in {name}")
    now_hits, now_misses = figures(node, stays)
    expect(now_misses == 0, f"{now_misses} of {opens} opens were misses")
    expect(now_hits - hits == opens, f"{now_hits - hits} hits of {opens} opens")
