"""push: goes round robin, can be resumed, and sends changed frames again. It passes over nodes that
do not answer or do not know the dataset."""
import json
import os
import signal

from nodes import Nodes
from processes import expect

with Nodes(4) as nodes:
    data = nodes.dataset(frames=100)
    other = nodes.dataset(frames=1, name="sim2")
    nodes.start()

    def check_placed(wanted):
        copies = [name for node in nodes for name in node.copies(data)]
        expect(sorted(copies) == sorted(wanted), "each frame on exactly one node")

    would = nodes.push(data, "--dry-run")
    expect(would["would_push"] == 100 and nodes.held(data) == 0, f"a dry run: {would}")
    pushed = nodes.push(data)
    expect((pushed["frames"], pushed["pushed"], pushed["failed"]) == (100, 100, 0), f"{pushed}")
    expect(pushed["bytes"] == data.bytes_of(data.frames), f"bytes: {pushed}")
    expect([node["pushed"] for node in pushed["nodes"]] == [25] * 4, f"evenly: {pushed}")
    check_placed(data.frames)

    again = nodes.push(data)
    expect((again["pushed"], again["skipped"]) == (0, 100), f"nothing to do: {again}")
    nodes[1].ctl("evict", data.path).succeeded()
    resumed = nodes.push(data)
    expect((resumed["pushed"], resumed["skipped"]) == (25, 75), f"resumed: {resumed}")
    check_placed(data.frames)

    data.rewrite("f7")  # of 100,003 bytes, the same number again
    changed = nodes.push(data)
    expect((changed["pushed"], changed["skipped"]) == (1, 99), f"rewritten: {changed}")
    check_placed(data.frames)
    for node in nodes:
        if "f7" in node.copies(data):
            with open(node.cache + data.file("f7"), "rb") as copy, open(data.file("f7"), "rb") as origin:
                expect(copy.read() == origin.read(), "the copy has the new bytes")

    # One node is silent, one is stopped, one does not serve the dataset.
    for node in nodes:
        node.ctl("evict", "--all").succeeded()
    nodes[0].stop()
    nodes[3].stop()
    nodes[3].configure([other])
    nodes[3].start()
    nodes[1].signal(signal.SIGSTOP)
    done = nodes[2].ctl("push", data.path, "--json", seconds=60).succeeded()
    nodes[1].signal(signal.SIGCONT)
    figures = json.loads(done.stdout)
    expect([node["pushed"] for node in figures["nodes"]] == [0, 0, 100, 0], f"{done}")
    reachable = [node["reachable"] for node in figures["nodes"]]
    expect(reachable == [False, False, True, True], f"{done}")
    expect(f"does not serve {data.path}" in done.stderr, f"says why: {done}")

    # A frame that cannot be pushed fails, by name, and the others do not.
    os.symlink("nowhere", data.file("f200"))
    data.write("f201", 10)
    done = nodes[2].ctl("push", data.path, "--json")
    figures = json.loads(done.stdout)
    expect(done.status == 1 and (figures["pushed"], figures["failed"]) == (1, 1), f"{done}")
    expect(f"{data.file('f200')}: a symbolic link" in done.stderr, f"{done}")

    nodes[2].stop()
    expect(nodes[2].ctl("push", data.path, "--to", "unix:" + nodes[2].runtime).status == 3,
           "no node at all")
    for words in ((), ("/",), (data.file("f1"),), (data.path, "--to", "n0")):
        expect(nodes[2].ctl("push", *words).status == 2, f"wrong usage: {words}")
