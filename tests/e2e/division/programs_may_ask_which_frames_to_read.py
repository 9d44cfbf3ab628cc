"""zazen(3): the example in C gets each frame of a range on one rank, from the node that holds it.
This works without a daemon, too. Wrong arguments fail on all ranks."""
import re
from collections import Counter

from nodes import MPIRUN, PROGRAMS, Nodes
from processes import Process, expect

EXAMPLE = f"{PROGRAMS}/own_frames"


def ask(nodes, words, shim=True, **variables):
    """Two ranks on each node; the program's lines."""
    argv = [MPIRUN]
    for node in nodes:
        env = dict(nodes.shim(node) if shim else {}, **variables)
        argv += ([":"] if len(argv) > 1 else []) + ["-n", "2", "env"]
        argv += [f"{key}={value}" for key, value in env.items()]
        argv += [EXAMPLE, *map(str, words)]
    process = Process(argv, nodes.env)
    nodes.running.append(process)
    return process.finish(60)


def check_once(done, frames):
    expect(done.status == 0, f"{done}")
    expect("zazen" not in done.stderr.lower(), f"stderr: {done.stderr}")
    found = [(int(rank), int(seq)) for rank, seq in re.findall(r"rank (\d+) frame (\d+)", done.stdout)]
    seen = Counter(seq for _, seq in found)
    expect(seen == Counter(frames), f"{sorted(seen.items())}")
    return found


with Nodes(2) as nodes:
    data = nodes.dataset(frames=40)
    nodes.start()
    nodes.push(data)
    held = {int(name[1:]): number for number, node in enumerate(nodes)
            for name in node.copies(data)}

    found = check_once(ask(nodes, (data.path + "/", 3, 33, 2)), range(3, 34, 2))
    for rank, seq in found:
        expect(held[seq] == rank // 2, f"frame {seq} is read by rank {rank}, not where it lies")
    expect(sum(node.status()["hits"] for node in nodes) == len(found), "not from the caches")

    # Beyond the last frame they are dealt out evenly: whether they exist is not looked at.
    done = ask(nodes, (data.path, 0, 79, 1))
    check_once(done, range(80))
    expect(sorted(re.findall(r"count (\d+)", done.stdout)) == ["20"] * 4, f"{done.stdout}")

    # No shim and no daemon: the range is divided all the same.
    check_once(ask(nodes, (data.path, 0, 39, 1), shim=False, HOME="/"), range(40))

    done = ask(nodes, (data.path, 5, 4, 1))
    expect(done.status != 0 and "the end is before the begin" in done.stderr, f"{done}")
