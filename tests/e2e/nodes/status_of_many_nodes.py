"""zazenctl status shows many nodes with one line each, over sockets and over TCP with a key: nodes that are
dead, stopped or refuse are named with the reason, within the time limit."""
import json
import os
import signal
import time

from network import Nodes, expect, free_port, listen, make_key
from processes import run

from nodes import ZAZENCTL, write_config


def configuration(nodes, name, peers, extra=""):
    """Of a machine without a daemon, from which people ask."""
    path = nodes.path(name)
    write_config(path, nodes.datasets, f'node = "desk"\ncache = "{nodes.path("none")}"\n'
                 f'runtime = "{nodes.path("nowhere")}"\npeers = {json.dumps(peers)}\n{extra}')
    return path


def ask(nodes, config, *words):
    return run([ZAZENCTL, "--config", config, "status", *words], nodes.env, seconds=60)


def rows(done):
    """{node: words of its line}"""
    lines = done.stdout.split("\n\n")[1].splitlines()
    expect(lines[0].split() == ["NODE", "STATE", "UP", "USED", "FULL", "FRAMES", "HITS"], lines[0])
    expect(all(len(line) <= 80 for line in done.stdout.splitlines()), f"wider than 80: {done}")
    return {line.split()[0]: line.split()[1:] for line in lines[1:]}


def by_name(done):
    answer = json.loads(done.stdout)
    expect(answer["schema_version"] >= 1, "no version")
    return {node["node"]: node for node in answer["nodes"]}


with Nodes(5) as nodes:
    data = nodes.dataset(frames=12)
    key, other = make_key(nodes), make_key(nodes, "other")
    for node in nodes:
        listen(node, [data], other if node.name == "n4" else key)
    nodes.warm(nodes[1], data, sorted(data.frames)[:7])

    # By sockets: each peer's runtime directory is named by what tells it from the others.
    local = configuration(nodes, "local.toml", [f"unix:{node.runtime}" for node in nodes])
    done = ask(nodes, local, "--all").succeeded()
    expect(done.stdout.startswith("5 nodes: 5 healthy\n"), f"{done}")
    found = rows(done)
    expect(list(found) == ["n0", "n1", "n2", "n3", "n4"], f"{found}")
    expect(found["n1"][0] == "healthy" and found["n1"][-2] == "7" and found["n0"][-2] == "0", f"{found}")
    done = ask(nodes, local, "--nodes", "n[1-2],n3").succeeded()
    expect(list(rows(done)) == ["n1", "n2", "n3"], f"{done}")
    done = ask(nodes, local, "--nodes", f"unix:{nodes[2].runtime}", "--json").succeeded()
    expect([node["status"]["node"] for node in by_name(done).values()] == ["n2"], f"{done}")
    expect(ask(nodes, local, "--all", "-x").succeeded().stdout == "", "there are no problems")

    # Over TCP, with the key.
    with_key = f'key_file = "{key}"\n'
    peers = [node.address for node in nodes]
    remote = configuration(nodes, "remote.toml", peers, with_key)
    done = ask(nodes, remote, "--all", "--json")
    expect(done.status == 1, f"n4 has another key: {done}")
    found = by_name(done)
    expect([found[node.address]["status"]["node"] for node in nodes[:4]] == ["n0", "n1", "n2", "n3"], f"{done}")
    expect(found[peers[1]]["status"]["used_files"] == 7, f"{done}")
    refused = found[peers[4]]
    expect(refused["answers"] and "key" in refused["error"] and "status" not in refused, f"{refused}")
    done = ask(nodes, remote, "--nodes", ",".join(peers[:4])).succeeded()
    expect(rows(done)[peers[1]][-2] == "7", f"{done}")
    expect(ask(nodes, remote, "--nodes", peers[4]).status == 1, "a refusal is an answer")

    # One is dead, one is stopped; the others answer, and the limit holds.
    nodes[2].kill()
    nodes[3].signal(signal.SIGSTOP)
    for config, names in ((local, ["n0", "n1", "n2", "n3"]), (remote, peers[:4])):
        begin = time.monotonic()
        done = ask(nodes, config, "--nodes", ",".join(names), "--timeout", "2s")
        expect(time.monotonic() - begin < 20, "the limit does not hold")
        expect(done.status == 1 and done.stdout.startswith("4 nodes: 2 healthy, 2 do not answer\n"), f"{done}")
        found = rows(done)
        expect([found[name][0] for name in names] == ["healthy", "healthy", "no", "no"], f"{done}")
        expect(f"\n{names[2]}: no daemon answers there\n" in done.stdout, f"{done}")
        expect(f"\n{names[3]}: no answer within 2 s\n" in done.stdout, f"{done}")
    done = ask(nodes, local, "--nodes", "n[0-3]", "-x", "--timeout", "2s")
    expect(done.status == 4 and [line.split(":")[0] for line in done.stdout.splitlines()] == ["n2", "n3"], f"{done}")
    done = ask(nodes, local, "--nodes", "n[2-3]", "--timeout", "2s", "--json")
    expect(done.status == 3 and not any(node["answers"] for node in by_name(done).values()), f"{done}")
    nodes[3].signal(signal.SIGCONT)

    # A node with a problem: its dataset has gone.
    os.rename(data.path, data.path + "-away")
    done = ask(nodes, local, "--nodes", "n0,n1", "-x")
    expect(done.status == 4 and done.stdout.startswith(f"n0: dataset {data.path}: "), f"{done}")
    os.rename(data.path + "-away", data.path)

    # Slurm's list, where there are no peers; a host without a port has that of `listen`.
    alone = configuration(nodes, "alone.toml", [], f'listen = "{nodes[0].address}"\n{with_key}')
    env = dict(nodes.env, SLURM_JOB_NODELIST="127.0.0.[1-1]")
    done = run([ZAZENCTL, "--config", alone, "status", "--all"], env).succeeded()
    expect(rows(done)["127.0.0.1"][0] == "healthy", f"{done}")

    # Command lines that make no sense.
    for words, word in (
            (["--nodes", "n[0-"], "bracket"), (["--nodes", "n[3-1]"], "range"), (["--nodes", ","], "no node"),
            (["--nodes", "n[0-99999]"], "too many"), (["--all", "--nodes", "n0"], "--all"),
            (["--all", "--timeout", "soon"], "time limit"), (["--all", "--prometheus"], "this node only"),
            (["--nodes", f"127.0.0.1:{free_port()}x"], "not a node's name")):
        done = ask(nodes, local, *words)
        expect(done.status == 2 and word in done.stderr and "hint: " in done.stderr, f"{words}: {done}")
    nodes[2].start()
