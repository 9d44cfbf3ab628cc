"""With Open MPI on several hosts, by mpirun and under srun, a divided job that leaves frames unread
ends with status 120. The output of the ranks of all hosts after MPI_Finalize is complete."""
from hosts import Hosts
from processes import expect
from slurm import Slurm


def check(job):
    expect(job.status == 120, f"status {job.status}\n{job.stderr}")
    expect("were not read by any rank." in job.stderr, job.stderr)
    job.check_bytes()
    for rank in range(len(job.ranks)):
        with open(f"{job.out}/rank-{rank}") as file:
            late = [line for line in file.read().splitlines() if line.startswith("late")]
        expect(late == [f"late {i}" for i in range(1, 21)], f"rank {rank} wrote {late}")
    lines = [f"rank {rank} late {i}\n" for rank in range(len(job.ranks)) for i in range(1, 21)]
    # The launcher may mix the lines of several ranks, but loses no byte.
    expect(sorted(job.stdout) == sorted("".join(lines)), f"the standard output is {job.stdout}")


with Hosts(3) as hosts:
    data = hosts.dataset(frames=24)
    hosts.start()
    hosts.push(data)
    check(hosts.mpirun("write_after_finalize_c", data, after=["return"]))
    check(hosts.mpirun("write_after_finalize.py", data))
    with Slurm(hosts) as slurm:
        check(slurm.srun("write_after_finalize_c", data, after=["_exit"]))
        check(slurm.srun("write_after_finalize_f08", data))
