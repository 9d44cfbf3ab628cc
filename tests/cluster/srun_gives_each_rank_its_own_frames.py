"""With Open MPI each frame is read once, from the disk of the rank's own host. The job is started
by srun --mpi=pmix, with `zazenctl run` behind it and in front of it, and by mpirun in an
allocation."""
from hosts import Hosts, behind, in_front
from slurm import Slurm

with Hosts(3) as hosts:
    data = hosts.dataset(frames=40)
    hosts.start()
    hosts.push(data)
    with Slurm(hosts) as slurm:
        for job in (slurm.srun("list_and_read_c", data, behind),
                    slurm.srun("list_and_read_c", data, in_front),
                    slurm.salloc("list_and_read_c", data)):
            job.check_exactly_once()
            job.check_report(hits=40, misses=0, nodes=3, ranks=6)
