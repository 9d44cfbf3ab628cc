"""An unmodified MPI program on four hosts, with frames that were pushed over TCP, reads each frame
once, from the disk of its own host."""
from hosts import Hosts, behind, in_front
from processes import expect

with Hosts(4) as hosts:
    data = hosts.dataset(frames=61)
    hosts.start()
    figures = hosts.push(data)
    expect((figures["pushed"], figures["failed"]) == (61, 0), f"{figures}")
    for arranged in (behind, in_front):
        job = hosts.mpirun("list_and_read_c", data, arranged=arranged)
        job.check_exactly_once()
        job.check_report(hits=61, misses=0, nodes=4, ranks=8, bytes_origin=0,
                         bytes_local=data.bytes_of(data.frames))
        reader = job.reader_node()
        for host in hosts:
            mine = {frame for frame in reader if reader[frame] == host.name}
            expect(mine == host.copies(data), f"{host.name} read another's frames")
