"""run prints one line for the job: with mpirun on either side, divided or not, on one node and on
two."""
import json
import os

from nodes import MPIRUN, PYTHON, ZAZENCTL, Nodes, program
from processes import expect, run
from summary import check

FRAMES, RANKS = 24, 3

with Nodes(2) as nodes:
    data = nodes.dataset(frames=FRAMES)
    nodes.start()
    first, second = nodes
    for node in nodes:
        nodes.warm(node, data, data.frames)
    number = 0

    def words(*after):
        global number
        number += 1
        out = nodes.path(f"out-{number}")
        os.mkdir(out)
        return [*program("list_and_read_c"), data.path, out, *after]

    def jobs(node=first):
        return json.loads(node.ctl("report", "--json").succeeded().stdout)["jobs"]

    local, on_nodes = "all from this node's disk", "all from the nodes' disks"
    ctl = [ZAZENCTL, "--config", first.config, "run"]
    launch = [MPIRUN, "-n", str(RANKS)]
    for divided in (True, False):
        flags = [] if divided else ["--no-divide"]
        opens = FRAMES if divided else FRAMES * RANKS
        for argv in ([*ctl, *flags, "--", *launch, *words()], [*launch, *ctl, *flags, "--", *words()],
                     [*ctl, *flags, "--", *launch, *ctl, *flags, "--", *words()]):
            check(run(argv, nodes.env), FRAMES, opens, local, ranks=str(RANKS), nodes=None)
            job = jobs()[0]
            expect(job["ranks"] == RANKS and job["opens"] == opens and job["frames_read"] == FRAMES and
                   job["divided"] == divided and job["duration_seconds"] > 0 and job["ended_in_order"], f"{job}")
    expect(len(jobs()) == 6, f"one for each job: {jobs()}")
    for argv in ([*ctl, "--quiet", "--", *launch, *words()], [*launch, *ctl, "--quiet", "--", *words()]):
        expect(run(argv, nodes.env).succeeded().stderr == "", "quiet")
    expect(len(jobs()) == 8 and jobs()[0]["frames_read"] == FRAMES, f"{jobs()}")

    # Two nodes: rank 0 receives the frames of the other. Frames that both opened count once.
    for divided in (True, False):
        flags = [] if divided else ["--no-divide"]
        tail = words()
        argv = [MPIRUN, "-n", "2", *ctl, *flags, "--", *tail, ":", "-n", "2",
                ZAZENCTL, "--config", second.config, "run", *flags, "--", *tail]
        check(run(argv, nodes.env), FRAMES, FRAMES if divided else 4 * FRAMES, on_nodes, ranks="4", nodes="2")
        for node in nodes:
            job = jobs(node)[0]
            expect(job["ranks"] == 4 and job["nodes"] == 2 and job["frames_read"] == FRAMES and
                   job["opens"] == (FRAMES if divided else 4 * FRAMES), f"{job}")
        expect(jobs(first)[0]["job"] == jobs(second)[0]["job"], "the same job on both")

    # Ranks that cannot reach the record of `run` in front of mpirun, as on another host: rank 0 speaks.
    launcher = nodes.path("mpirun")
    with open(launcher, "w") as file:
        file.write(f'#!/bin/sh\nZAZEN_JOB="${{ZAZEN_JOB% *}} /elsewhere" exec {MPIRUN} "$@"\n')
    os.chmod(launcher, 0o700)
    done = run([*ctl, "--", launcher, "-n", str(RANKS), *words()], nodes.env)
    check(done, FRAMES, FRAMES, local, ranks=str(RANKS))

    # Programs without MPI behind a launcher: one line too.
    opens = f"open({data.file('f7')!r}).close()"
    found = run([*launch, *ctl, "--", PYTHON, "-c", opens], nodes.env).succeeded().stderr
    expect(found.count("zazen: ") == 1 and f"{RANKS} ranks: 1 frame" in found, found)
