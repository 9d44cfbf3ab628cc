"""Slurm lets ranks out of MPI_Init while others are still in it, and Open MPI crashes if these are sent
something: no rank sends anything before the last one has left it. One that takes too long finds that the
others have given up, and they all go on unfiltered, in step with each other."""
from hosts import Hosts
from nodes import BUILD
from processes import expect
from slurm import Slurm

LATE_INIT = f"{BUILD}/tests/cluster/liblate_init.so"

with Hosts(2) as hosts:
    data = hosts.dataset(frames=24)
    hosts.start()
    hosts.push(data)
    with Slurm(hosts) as slurm:
        def job_with_late(rank, seconds):
            return slurm.srun("list_and_read_c", data, env={"LD_PRELOAD": LATE_INIT, "LATE_RANK": str(rank),
                                                            "LATE_SECONDS": str(seconds)})

        for rank in (1, 2):
            job = job_with_late(rank, 5)
            job.check_exactly_once()
            job.check_report(hits=24, misses=0, nodes=2, ranks=4)
            phases = job.report["phases"]
            expect(phases["presence"] > 2, f"rank 0 did not wait for rank {rank}: {phases}")
            expect(phases["meeting"] < phases["presence"], f"rank 0 sent something to rank {rank}: {phases}")

        job = job_with_late(2, 13)
        job.check_unfiltered()
        expect("had left MPI_Init" in job.report["reason"], f"{job.report}")
