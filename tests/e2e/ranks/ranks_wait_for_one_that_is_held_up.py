"""One rank is delayed by 12 s (or by the first argument) after MPI_Init, or in the middle of
Zazen's exchange. The others wait for it, without keeping the processors busy. All are filtered, and
the program's background sum is right. If that rank dies instead, the job ends."""
import resource
import sys

from nodes import PROGRAMS, SHIM, Nodes
from processes import expect

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
POINTS = ("init", "begun", "between")

with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)

    def start(point, rank, seconds):
        variables = {"LD_PRELOAD": f"{SHIM}:{PROGRAMS}/libhold_up.so", "HOLD_AT": point,
                     "HOLD_RANK": rank, "HOLD_SECONDS": seconds}
        return nodes.start_mpirun("sum_in_background_c", data, shims=[variables, variables])

    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = [start(point, rank, SECONDS) for rank, point in enumerate(POINTS, 1)]
    for running in jobs:
        job = running.finish(SECONDS + 60)
        job.check_exactly_once()
        expect(job.report["protocol_seconds"] > SECONDS / 2, f"nobody was held up: {job.report}")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    expect(used < SECONDS / 2, f"the waiting ranks used {used:.1f} s of the processors")

    for rank, point in enumerate(POINTS, 1):
        job = start(point, rank, "dead").finish_with_ranks()
        expect(job.status != 0, f"a rank died at {point}, and mpirun's status is 0")
