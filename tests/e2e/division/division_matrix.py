"""division_matrix.py PROGRAM [long]: one kind of program, with each switch of `zazenctl run` and
each failure.

In all cases a run that ends with status 0 has the serial result, or it was not divided. Then it
said so in its first lines, or --no-divide was given, and it has the result that it has without
Zazen. Cells with a more precise expectation are checked for that, too."""
import sys

from nodes import MPI, MPIRUN, PROGRAMS, PYTHON, SOURCES, ZAZENCTL, Nodes
from processes import expect, run

FRAMES = 12
RANKS = (2, 1)  # on each node
SWITCHES = ("", "--divide", "--no-divide")
FAILURES = ("none", "daemons down", "no shim")
LONG_FAILURES = ("one daemon down", "daemons killed", "no shim on rank 0")
BARE_NODE = {"no shim": 1, "no shim on rank 0": 0}
DIVIDED = ("none", "one daemon down")
FIRST_LINES = 5
LOST = 120

# Programs that divide the work themselves have the serial result as long as every rank sees everything.
DIVIDES_ITSELF = {"list": False, "divide": True, "scatter": True, "futures": True, "by_name": True}
LISTS = {"list": True, "divide": True, "scatter": True, "futures": True, "by_name": False}


def command(program, data):
    if program == "futures":
        return [PYTHON, "-m", "mpi4py.futures", f"{SOURCES}/sum_frames_futures.py", data.path]
    return [f"{PROGRAMS}/sum_frames_c", program, data.path, str(FRAMES)]


def launch(nodes, program, data, switch, bare_node):
    argv = [MPIRUN]
    for node, (at, count) in zip(nodes, enumerate(RANKS)):
        shim = [ZAZENCTL, "--config", node.config, "run", "--quiet", *filter(None, [switch]), "--"]
        argv += [*([":"] if at else []), "-n", str(count), *([] if at == bare_node else shim),
                 *command(program, data)]
    return run(argv, nodes.env, seconds=60)


def result_of(done):
    results = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("result ")]
    return int(results[0]) if len(results) == 1 else None


def says_not_divided(done):
    return any("not divided" in line for line in done.stderr.splitlines()[:FIRST_LINES])


def expected_status(program, failure, switch):
    """The status that the cell must have; None: any but 0."""
    if switch == "--no-divide":
        return 0
    if failure not in DIVIDED:
        return None if switch == "--divide" else 0
    return LOST if DIVIDES_ITSELF[program] and LISTS[program] else 0


def check(cell, done, program, failure, switch, serial):
    size = sum(RANKS)
    plain = serial if DIVIDES_ITSELF[program] else size * serial
    status, result = expected_status(program, failure, switch), result_of(done)
    expect(done.status != 0 if status is None else done.status == status,
           f"{cell}: the status should be {'any but 0' if status is None else status}: {done}")
    undivided = switch == "--no-divide" or says_not_divided(done)
    if done.status == 0:
        expect(result == serial or (undivided and result == plain),
               f"{cell}: the result is {result}; alone it is {serial}, without Zazen {plain}: {done}")
    if status is None:
        expect(result is None and "cannot be divided" in done.stderr, f"{cell}: it began: {done}")
    if status == LOST:
        expect("were not read by any rank" in done.stderr, f"{cell}: {done}")
    should_say = status == 0 and switch == "" and failure not in DIVIDED
    expect(says_not_divided(done) == should_say, f"{cell}: {done}")


def bring_about(failure, nodes):
    if failure == "daemons down":
        for node in nodes:
            node.stop()
    elif failure == "daemons killed":
        for node in nodes:
            node.kill()
    elif failure == "one daemon down":
        nodes[1].stop()


program = sys.argv[1]
for failure in LONG_FAILURES if sys.argv[2:] == ["long"] else FAILURES:
    with Nodes(len(RANKS)) as nodes:
        data = nodes.dataset(frames=FRAMES)
        nodes.start()
        nodes.push(data)
        serial = sum(sum(data.sums[name]) for name in data.frames)
        bring_about(failure, nodes)
        for switch in SWITCHES:
            done = launch(nodes, program, data, switch, BARE_NODE.get(failure))
            check(f"{MPI}, {program}, {failure}, {switch or 'no switch'}", done, program, failure, switch, serial)
