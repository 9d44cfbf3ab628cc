"""A program's lock on a frame ends when the program closes it, although the daemon still has the file open."""
import signal

from nodes import PYTHON, Nodes
from processes import expect, run

PROGRAM = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_SH)
os.close(fd)
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked")
"""

with Nodes(1) as nodes:
    data = nodes.dataset(frames=2, keys='fill = "wait"')  # so that a descriptor is handed to the daemon
    nodes.start()
    nodes[0].signal(signal.SIGSTOP)  # the descriptor stays in the socket
    shown = nodes.serial(nodes[0], [PYTHON, "-c", PROGRAM, data.file("f1")])
    plain = run([PYTHON, "-c", PROGRAM, data.file("f1")], nodes.env)
    nodes[0].signal(signal.SIGCONT)
    expect((shown.stdout, shown.status) == (plain.stdout, 0) == ("locked\n", 0), f"{shown}")
