"""One daemon is frozen before the job starts. The job ends, and reads each frame once, with the
right bytes."""
import signal

from nodes import Nodes

with Nodes(3) as nodes:
    data = nodes.dataset(frames=30)
    nodes.start()
    nodes.push(data)
    data.add(range(30, 60))
    nodes[1].signal(signal.SIGSTOP)
    job = nodes.mpirun("list_and_read_c", data, seconds=40)
    job.check_exactly_once()
