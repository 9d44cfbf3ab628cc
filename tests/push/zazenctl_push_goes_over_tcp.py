"""zazenctl push to nodes that are named HOST:PORT places each frame once, as a native, equal to the
origin's. A second run has nothing to do. A node that is gone is passed over, and a wrong key is
reported."""
import json

from network import Nodes, expect, listen, make_key, natives

with Nodes(3) as nodes:
    data = nodes.dataset(frames=40, sizes=(1000, 300_000), ordinary=False)
    key, other_key = make_key(nodes), make_key(nodes, "other")
    for node in nodes:
        listen(node, [data], key)
    addresses = [node.address for node in nodes]

    def push(*options, to=addresses):
        words = [word for address in to for word in ("--to", address)]
        return nodes[0].ctl("push", data.path, "--json", *words, *options, seconds=100)

    def held(*of):
        return sum((natives(nodes, node.address, key, data) for node in of or nodes), [])

    would = json.loads(push("--dry-run").succeeded().stdout)
    expect(would["would_push"] == 40 and held() == [], f"a dry run: {would}")
    figures = json.loads(push().succeeded().stdout)
    expect((figures["pushed"], figures["failed"]) == (40, 0), f"{figures}")
    expect(sorted(node["pushed"] for node in figures["nodes"]) == [13, 13, 14], f"evenly: {figures}")
    expect(sorted(held()) == sorted(int(name[1:]) for name in data.frames), "each frame once")
    for node in nodes:
        for name in node.copies(data):
            with open(node.cache + data.file(name), "rb") as copy, open(data.file(name), "rb") as origin:
                expect(copy.read() == origin.read(), f"{name}: its bytes")
    again = json.loads(push().succeeded().stdout)
    expect((again["pushed"], again["skipped"]) == (0, 40), f"nothing to do: {again}")
    nodes.mpirun("list_and_read_c", data).check_exactly_once()

    nodes[1].ctl("evict", data.path).succeeded()
    nodes[2].stop()
    missing = 40 - len(held(nodes[0], nodes[1]))
    done = push()
    figures = json.loads(done.succeeded().stdout)
    expect((figures["pushed"], figures["failed"]) == (missing, 0), f"{figures}")
    expect("no daemon answers" in done.stderr, done.stderr)

    node = nodes[0]
    with open(node.config) as file:
        text = file.read()
    with open(node.config, "w") as file:
        file.write(text.replace(key, other_key))
    done = push(to=addresses[1:2])
    expect(done.status != 0 and "no daemon answers" not in done.stderr, f"{done}")
    expect(push(to=["nonsense"]).status == 2, "not an address")
