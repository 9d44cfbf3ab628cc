"""A divided job that leaves frames unread ends with status 120, in whichever way its ranks end. Its
output after MPI_Finalize is complete. A failure status of its own stays; audit = "warn" is a
message only. There is neither where no rank listed the directory, or where one rank is alone. An
argument sets the number of ranks."""
import sys

from nodes import MPI, Nodes
from processes import expect

LOST = "were not read by any rank."
STATUS = 'zazen: so the job\'s exit status is 120 (audit = "warn": only a message).'


def check_complete(job):
    job.check_bytes()
    for rank in range(len(job.ranks)):
        with open(f"{job.out}/rank-{rank}") as file:
            late = [line for line in file.read().splitlines() if line.startswith("late")]
        expect(late == [f"late {i}" for i in range(1, 21)], f"rank {rank} wrote {late}")
    lines = [f"rank {rank} late {i}\n" for rank in range(len(job.ranks)) for i in range(1, 21)]
    # The launcher may mix the lines of several ranks, but loses no byte.
    expect(sorted(job.stdout) == sorted("".join(lines)), f"the standard output is {job.stdout}")


def check_many(nodes, data, ranks):
    job = nodes.mpirun("write_after_finalize_c", data, ranks=[ranks - ranks // 2, ranks // 2], after=["return"],
                       seconds=200)
    expect(job.status == 120, f"status {job.status}\n{job.stderr}")
    check_complete(job)


def check_ways(nodes, data, warned):
    ways = [("write_after_finalize_c", how) for how in ("return", "exit", "_exit", "_Exit", "quick_exit")]
    ways.append(("write_after_finalize_f08", "return"))
    if MPI == "openmpi":
        ways.append(("write_after_finalize.py", "return"))
    jobs = [(name, how, nodes.start_mpirun(name, data, after=[how])) for name, how in ways]
    for name, how, running in jobs:
        job = running.finish()
        expect(job.status == 120, f"{name} {how}: status {job.status}\n{job.stderr}")
        expect(LOST in job.stderr and STATUS in job.stderr, f"{name} {how}: {job.stderr}")
        check_complete(job)

    own = nodes.mpirun("write_after_finalize_c", data, after=["own"])
    expect(own.status == 7, f"status {own.status}\n{own.stderr}")

    job = nodes.mpirun("write_after_finalize_c", warned, after=["return"]).succeeded()
    check_complete(job)
    expect(LOST in job.stderr and STATUS not in job.stderr, job.stderr)

    alone = nodes.mpirun("write_after_finalize_f08", data, ranks=[1, 0]).succeeded()
    check_complete(alone)
    alone.check_silent()
    expect(alone.report["filtered"] and alone.report["frames_never_read"] == 1, f"{alone.report}")

    by_name = nodes.mpirun("read_first_half_by_name_c", data).succeeded()
    by_name.check_bytes()
    by_name.check_silent()
    report = by_name.report
    expect(report["filtered"] and report["frames_read"] == report["frames_never_read"] == 12, f"{report}")


with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    warned = nodes.dataset(frames=24, name="warned", keys='audit = "warn"')
    nodes.start()
    nodes.push(data)
    nodes.push(warned)
    if len(sys.argv) > 1:
        check_many(nodes, data, int(sys.argv[1]))
    else:
        check_ways(nodes, data, warned)
