"""zazen.own_frames() with mpi4py: each frame goes to exactly one rank, to the node that has it, evenly
if no node has any. A divided job is not divided again. An error is one on all ranks."""
import glob
import json
import os
from collections import Counter

from nodes import MPIRUN, PYTHON, ZAZENCTL, Nodes
from processes import Process, expect

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ask_in_ranks.py")
RANKS = 4


def ask(nodes, how, directory, options=None, run=("--no-divide",)):
    """The answer to each rank, by rank; two ranks on each node."""
    out, _ = nodes.output_of_a_job()
    argv = [MPIRUN]
    for node in nodes:
        argv += ([":"] if len(argv) > 1 else []) + ["-n", "2"]
        argv += [ZAZENCTL, "--config", node.config, "run", "--quiet", *run, "--", PYTHON, PROGRAM, out, how, directory]
        argv += [json.dumps(options or {})]
    process = Process(argv, nodes.env)
    nodes.running.append(process)
    done = process.finish(60)
    nodes.running.remove(process)
    done.succeeded()
    answers = []
    for rank in range(RANKS):
        with open(f"{out}/rank-{rank}") as file:
            answers.append(json.load(file))
    return answers


def check_once(answers, data, wanted, times=1):
    """The frames of each rank, as numbers."""
    prefix = f"{data.path}/f"
    numbers = [[int(path.removeprefix(prefix)) for path in answer] for answer in answers]
    for one in numbers:
        expect(one == sorted(one), f"not ascending: {one}")
    expect(Counter(number for one in numbers for number in one) == Counter(list(wanted) * times), f"{numbers}")
    return numbers


with Nodes(2) as nodes:
    data = nodes.dataset(frames=40)
    sparse = nodes.dataset(frames=[5 + i * 2**40 for i in range(24)], name="sparse")
    irregular = nodes.dataset(frames=[0, 2**40 + 1, 2**41 + 1], name="irregular")
    empty = nodes.dataset(frames=0, name="empty")
    nodes.start()
    nodes.push(data)
    held = {int(name[1:]): number for number, node in enumerate(nodes) for name in node.copies(data)}
    every = range(40)

    for rank, one in enumerate(check_once(ask(nodes, "world", data.path), data, every)):
        expect({held[number] for number in one} == {rank // 2}, f"rank {rank} has frames of the other node: {one}")
    check_once(ask(nodes, "world", data.path, {"begin": 3, "end": 33, "stride": 5}), data, range(3, 34, 5))
    check_once(ask(nodes, "halves", data.path), data, every, times=2)
    check_once(ask(nodes, "alone", data.path), data, every, times=RANKS)
    check_once(ask(nodes, "child", data.path), data, every, times=RANKS)

    # Numbers that are far apart, without a begin: no rank gets more than another.
    shares = check_once(ask(nodes, "world", sparse.path, {"stride": 2**41}), sparse, range(5, 24 * 2**40, 2**41))
    expect([len(one) for one in shares] == [3] * RANKS, f"{shares}")
    expect(ask(nodes, "world", empty.path) == [[]] * RANKS, "frames of an empty directory")

    # What the shim has divided stays so, by whatever communicator. The stride counts from the first frame
    # of all ranks.
    for how in ("world", "halves", "alone", "child"):
        check_once(ask(nodes, how, data.path, run=("--divide",)), data, every)
    check_once(ask(nodes, "world", data.path, {"stride": 3}, run=("--divide",)), data, range(0, 40, 3))

    def check_refused(reason, hint, *arguments):
        answers = ask(nodes, "world", *arguments)
        expect(all(reason in answer["reason"] and hint in answer["hint"] for answer in answers), f"{answers}")

    unknown = nodes.path("unknown")
    os.mkdir(unknown)
    check_refused(f"{unknown}: no dataset has this path", f"zazenctl init {unknown}", unknown)
    check_refused("begin=5, end=4", "begin <= end", data.path, {"begin": 5, "end": 4})
    # Wrong on one rank alone: the others do not wait for it.
    check_refused("rank 2: begin=5, end=4", "begin <= end", data.path, [{}, {}, {"begin": 5, "end": 4}, {}])
    check_refused("rank 2: TypeError", "help(zazen.own_frames)", data.path, [{}, {}, {"begin": 5.0}, {}])
    check_refused("rank 0: TypeError", "help(zazen.own_frames)", data.path, {"begin": 5.0})
    check_refused("rank 1: other arguments", "the same directory", data.path, [{}, {"end": 9}, {}, {}])
    check_refused("3 frames from 0 to 2199023255553", "zazenctl run --divide", irregular.path)
    for path in glob.glob(f"{empty.path}/*"):
        os.rmdir(path) if os.path.isdir(path) else os.remove(path)
    os.rmdir(empty.path)
    check_refused("rank 0: ", "ls -ld", empty.path)
