"""Every daemon is frozen while a serial program and a job run: both end with the right bytes."""
import signal

from nodes import Nodes
from processes import expect, run

with Nodes(2) as nodes:
    data = nodes.dataset(frames=20)
    nodes.start()
    nodes.push(data)
    data.add(range(20, 40))
    for node in nodes:
        node.signal(signal.SIGSTOP)
    files = sorted(data.file(name) for name in data.frames)
    shown = nodes.serial(nodes[0], ["sha256sum", *files])
    expect(shown.stdout == run(["sha256sum", *files], nodes.env).stdout, f"other bytes: {shown}")
    nodes.mpirun("list_and_read_c", data, seconds=40).check_exactly_once()
