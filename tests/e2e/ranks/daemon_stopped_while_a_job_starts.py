"""A daemon is frozen at some moment of a job's start. The job ends, and reads each frame once, with
the right bytes."""
import signal
import time

from nodes import Nodes

MOMENTS = [0.1 * moment for moment in range(1, 7)]  # seconds after mpirun was started

with Nodes(3) as nodes:
    data = nodes.dataset(frames=30)
    nodes.start()
    nodes.push(data)
    for turn, moment in enumerate(MOMENTS):
        data.add([100 + turn])  # so that the kept listing is of no use, and the daemon is asked
        node = nodes[turn % 3]
        running = nodes.start_mpirun("list_and_read_c", data, ranks=[1, 2, 1])
        time.sleep(moment)
        node.signal(signal.SIGSTOP)
        running.finish(40).check_exactly_once()
        node.signal(signal.SIGCONT)
