"""If a host dies before a job, its frames are read once, from the origin. If a host dies during a
job, the job ends, leaves nothing behind, and the next job runs as usual."""
from hosts import Hosts
from processes import expect, wait_until

with Hosts(4) as hosts:
    data = hosts.dataset(frames=60)
    hosts.start()
    hosts.push(data)

    dead, rest = hosts[3], hosts[:3]
    lost = len(dead.copies(data))
    dead.crash()
    job = hosts.mpirun("list_and_read_c", data, rest)
    job.check_exactly_once()
    job.check_report(hits=60 - lost, misses=lost, nodes=3)

    dead.boot()  # its disk has all natives still
    dead.start()
    expect(dead.held(data, "native") == lost, "natives are kept over a crash")
    job = hosts.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=60, misses=0, nodes=4)

    running = hosts.start_mpirun("read_in_two_halves_c", data)
    running.wait_until_ready()
    dead.crash()
    expect(running.finish_with_ranks().status != 0, "mpirun says that all went well")
    for host in rest:
        wait_until(lambda: len(host.processes()) == 1 and not host.jobs_left(),
                   f"{host.name} to be rid of the job")
    hosts.mpirun("list_and_read_c", data, rest).check_exactly_once()
