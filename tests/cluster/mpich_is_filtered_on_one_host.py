"""On one host Debian's MPICH reads each frame once: under hydra, in an allocation of Slurm, and
with ZAZEN_FILTER=on under srun --mpi=pmi2. On several hosts, where its MPI_Finalize would hang, and
under srun without that variable, the job ends and every rank sees and reads all. If the variable is
wrong about one rank, the others wait for it, and say so."""
import signal

from hosts import Hosts
from processes import expect, wait_until
from slurm import Slurm

with Hosts(3) as hosts:
    data = hosts.dataset(frames=24)
    hosts.start()
    hosts.push(data)
    one = hosts[:1]

    hosts.mpirun("list_and_read_c", data, one).check_exactly_once()
    job = hosts.mpirun("list_and_read_c", data)
    job.check_unfiltered(says="several hosts")
    expect("several hosts" in job.report["reason"], f"{job.report}")
    with Slurm(hosts) as slurm:
        slurm.salloc("list_and_read_c", data, one).check_exactly_once()
        job = slurm.salloc("list_and_read_c", data)
        job.check_unfiltered(says="several hosts")
        expect("several hosts" in job.report["reason"], f"{job.report}")
        for where in (one, list(hosts)):
            job = slurm.srun("list_and_read_c", data, hosts=where)
            job.check_unfiltered(says="the launcher has no store for it")
            expect("not every rank" in job.report["reason"], f"{job.report}")
        vouched = {"ZAZEN_FILTER": "on"}
        slurm.srun("list_and_read_c", data, hosts=one, env=vouched).check_exactly_once()
        running = slurm.start_srun("list_and_read_c", data, slurm.without_shim(1), one, vouched)
        wait_until(lambda: "rank 0 has waited for the other ranks for 10 s" in running.said(), "the reminder")
        running.signal(signal.SIGTERM)
        expect(running.finish().status != 0, "a job that was ended has status 0")
