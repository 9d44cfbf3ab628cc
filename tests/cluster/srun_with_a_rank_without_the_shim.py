"""If one rank of srun --multi-prog runs without the shim, the job ends, and every rank sees and
reads all. This holds for each choice of the rank."""
from hosts import Hosts
from nodes import MPI
from processes import expect
from slurm import Slurm

with Hosts(2) as hosts:
    data = hosts.dataset(frames=24)
    hosts.start()
    hosts.push(data)
    with Slurm(hosts) as slurm:
        for rank in (0, 1, 3):
            job = slurm.srun("list_and_read_c", data, slurm.without_shim(rank))
            if MPI == "openmpi":
                job.check_unfiltered(says=f"rank {rank} did not")
            else:  # without a store no rank knows that rank 0 cannot send
                job.check_unfiltered(says="the launcher has no store" if rank != 0 else None)
            if rank != 0:
                job.check_report(filtered=False)
                reason = job.report["reason"]
                expect("not every rank" in reason, f"found out only by waiting: {reason}")
