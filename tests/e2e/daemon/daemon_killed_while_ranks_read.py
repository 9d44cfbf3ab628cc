"""Daemons are killed or stopped while ranks read. The listings stay as agreed, and the bytes are
right."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=30)
    nodes.start()
    nodes.push(data)
    data.add(range(30, 48))
    running = nodes.start_mpirun("read_in_two_halves_c", data)
    running.wait_until_ready()
    nodes[0].kill()
    nodes[2].stop()
    running.go()
    job = running.finish()
    for rank, output in enumerate(job.ranks):
        expect(sorted(output.listed) == sorted(output.again),
               f"rank {rank} listed another directory after the kill")
    job.check_exactly_once()
