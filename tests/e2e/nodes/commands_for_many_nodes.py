"""ls, pin, unpin, verify, evict, top and warm act on the nodes that are named, and on no other, over sockets and
over TCP with a key: one line, or one object, for each node. A node that does not answer is named."""
import json

from network import Nodes, expect, listen, make_key
from processes import run, wait_until

from nodes import ZAZENCTL, write_config


def flip_a_byte(path):
    with open(path, "rb+") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))


class Desk:
    """A machine without a daemon, from which people ask."""
    def __init__(self, nodes, name, peers, extra=""):
        self.env, self.config = nodes.env, nodes.path(name)
        write_config(self.config, nodes.datasets, f'node = "desk"\ncache = "{nodes.path("none")}"\n'
                     f'runtime = "{nodes.path("nowhere")}"\npeers = {json.dumps(peers)}\n{extra}')

    def ctl(self, *words):
        done = run([ZAZENCTL, "--config", self.config, *words], self.env, seconds=60)
        too_wide = "--json" not in words and any(len(line) > 80 for line in done.stdout.splitlines())
        expect(not too_wide, f"wider than 80: {done}")
        return done

    def rows(self, *words):
        """[title words], {node: figures}"""
        lines = self.ctl(*words).succeeded().stdout.splitlines()
        return {line.split()[0]: line.split()[1:] for line in lines[1:]}

    def figures(self, *words):
        answer = json.loads(self.ctl(*words, "--json").succeeded().stdout)
        return {node["node"]: node for node in answer["nodes"]}


with Nodes(3) as nodes:
    data = nodes.dataset(frames=12)
    key = make_key(nodes)
    for node in nodes:
        listen(node, [data], key)
    names = sorted(data.frames, key=lambda name: int(name[1:]))
    for node, count in zip(nodes, (4, 6, 8)):
        nodes.warm(node, data, names[:count])
    local = Desk(nodes, "local.toml", [f"unix:{node.runtime}" for node in nodes])
    remote = Desk(nodes, "remote.toml", [node.address for node in nodes], f'key_file = "{key}"\n')
    for desk, called in ((local, ["n0", "n1", "n2"]), (remote, [node.address for node in nodes])):
        expect([row[1] for row in desk.rows("ls", "--all").values()] == ["4", "6", "8"], "ls")
        held = desk.figures("ls", data.file("f5"), "--nodes", ",".join(called[1:]))
        expect({name: figures["alien"] for name, figures in held.items()} == dict.fromkeys(called[1:], 1), f"{held}")

        pinned = desk.rows("pin", data.path, "0-1", "--nodes", called[1])
        expect(pinned[called[1]][0] == "2", f"{pinned}")
        expect([node.status_of(data)["pinned"] for node in nodes] == [0, 2, 0], "pins of other nodes")
        gone = desk.figures("evict", data.path, "--frames", "0-2", "--dry-run", "--nodes", "all")
        expect([gone[name]["frames"] for name in called] == [3, 1, 3], f"{gone}")
        expect([node.held(data) for node in nodes] == [4, 6, 8], "a dry run evicts")
        gone = desk.rows("evict", data.path, "--frames", "0-2", "--nodes", f"{called[1]},{called[2]}")
        expect([gone[name][0] for name in called[1:]] == ["1", "3"] and gone[called[1]][-1] == "2", f"{gone}")
        expect([node.held(data) for node in nodes] == [4, 5, 5], "evict")
        desk.rows("unpin", data.path, "--nodes", called[1])
        expect([node.status_of(data)["pinned"] for node in nodes] == [0, 0, 0], "unpin")

        flip_a_byte(nodes[2].cache + data.file("f4"))
        verified = desk.ctl("verify", "--all")
        expect(verified.status == 1, f"{verified}")
        expect(f"{called[2]}: {data.file('f4')}: its checksum differs" in verified.stderr, f"{verified}")
        expect([line.split()[1] for line in verified.stdout.splitlines()[1:]] == ["4", "5", "5"], f"{verified}")
        again = desk.figures("verify", data.path, "--all").values()
        expect([figures["bad"] for figures in again] == [0, 0, 0], f"{again}")

        top = json.loads(desk.ctl("top", "--all", "--once", "--interval", "100ms", "--json").succeeded().stdout)
        expect([node["used_files"] for node in top["nodes"]] == [4, 5, 4], f"{top}")
        shown = desk.ctl("top", "--all", "--once", "--interval", "100ms").succeeded().stdout.splitlines()
        expect(shown[0].startswith("3 nodes") and shown[1].split()[0] == "NODE" and shown[3].split()[0] == called[1],
               f"{shown}")

        # Each frame that no node has is brought by one of them.
        desk.ctl("evict", data.path, "--frames", "3-", "--nodes", "all").succeeded()
        kept = [node.held(data) for node in nodes]
        planned = desk.rows("warm", data.path, "--all", "--dry-run")
        expect([node.held(data) for node in nodes] == kept, "a dry run brings frames")
        there = len(set().union(*(node.copies(data) for node in nodes)))
        expect(sum(int(row[0]) for row in planned.values()) == 12 - there > 0, f"{planned}")
        brought = desk.figures("warm", data.path, "--all")
        expect(sum(figures["brought"] for figures in brought.values()) == 12 - there, f"{brought}")
        copies = [node.copies(data) for node in nodes]
        expect(set().union(*copies) == set(names), f"{copies}")
        expect(sum(map(len, copies)) == sum(kept) + 12 - there, f"{copies}")
        expect(all(int(row[0]) == 0 for row in desk.rows("warm", data.path, "--all").values()), "all are there")
        desk.ctl("evict", "--all", "--nodes", "all").succeeded()
        for node, count in zip(nodes, (4, 6, 8)):
            nodes.warm(node, data, names[:count])

    # What a local user cannot ask is refused there, too; what does not fit is said before anybody is asked.
    done = local.ctl("evict", "/nowhere", "--nodes", "n0")
    expect(done.status == 2 and "/nowhere" in done.stderr, f"{done}")
    expect(local.ctl("ls", "-l", data.path, "--all").status == 2, "-l")
    other = nodes.dataset(frames=1, name="unknown")
    desk = Desk(nodes, "more.toml", [nodes[0].address], f'key_file = "{key}"\n')
    done = desk.ctl("ls", other.path, "--all")
    expect(done.status == 1 and "does not serve" in done.stderr, f"{done}")
    nodes.datasets.remove(other)

    nodes[0].kill()
    for desk, name in ((local, "n0"), (remote, nodes[0].address)):
        done = desk.ctl("evict", data.path, "--frames", "3", "--nodes", "all")
        expect(done.status == 1 and f"{name}: no daemon answers there" in done.stderr, f"{done}")
        wait_until(lambda: nodes[1].held(data) == 5, "the others to evict")
        done = desk.ctl("pin", data.path, "--nodes", name)
        expect(done.status == 3, f"nobody answers: {done}")
    nodes[0].start()
