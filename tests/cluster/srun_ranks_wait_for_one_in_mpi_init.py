"""Slurm lets ranks out of MPI_Init while others are still in it, and Open MPI crashes if such a
rank is sent a message. So no rank sends anything before the last one has left MPI_Init. The others
wait for a rank that is delayed there, or in the middle of Zazen's exchange, by 12 s or by the first
argument. All are filtered, and the program's background sum is right. If that rank dies instead,
the job ends."""
import sys

from hosts import Hosts
from nodes import PROGRAMS
from processes import expect
from slurm import Slurm

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 12

with Hosts(2) as hosts:
    data = hosts.dataset(frames=24)
    hosts.start()
    hosts.push(data)
    with Slurm(hosts) as slurm:
        def job_with(rank, point, seconds):
            return slurm.srun("sum_in_background_c", data, seconds=SECONDS + 60, env={
                "LD_PRELOAD": f"{PROGRAMS}/libhold_up.so", "HOLD_AT": point, "HOLD_RANK": str(rank),
                "HOLD_SECONDS": str(seconds)})

        for rank, point, seconds in ((1, "init", 3), (2, "init", SECONDS), (1, "begun", SECONDS)):
            job = job_with(rank, point, seconds)
            job.check_exactly_once()
            job.check_report(hits=24, misses=0, nodes=2, ranks=4)
            phases = job.report["phases"]
            waited, other = ("presence", "meeting") if point == "init" else ("meeting", "presence")
            expect(phases[waited] > seconds / 2, f"rank 0 did not wait for rank {rank}: {phases}")
            expect(phases[other] < phases[waited], f"rank 0 waited for rank {rank} elsewhere: {phases}")

        for rank, point in ((2, "init"), (1, "between")):
            job = job_with(rank, point, "dead")
            expect(job.status != 0, f"a rank died at {point}, and srun's status is 0")
