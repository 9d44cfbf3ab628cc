"""A child after fork() cannot use its parent's handle, is told why, and harms nothing. A handle of
its own works there."""
import os

from bodhi_library import Bodhi, BodhiError, check_placed, frame_bytes
from nodes import Nodes
from processes import expect


def child(writer, config, data):
    for call in (lambda: writer.write(data.path, 5, b"x"), lambda: writer.flush(0),
                 lambda: writer.read(data.path, 5), writer.figures):
        try:
            call()
            return 1
        except BodhiError as error:
            if "after fork, a child opens one of its own" not in str(error):
                return 2
    writer.close()
    with Bodhi(config) as own:
        own.write(data.path, 41, frame_bytes(data, 41))
        own.flush()
        return 0 if own.figures().pushed == 1 else 3


with Nodes(2) as nodes:
    data = nodes.dataset(frames=42)
    nodes.start()
    with Bodhi(nodes[0].config) as writer:
        for seq in range(20):
            writer.write(data.path, seq, frame_bytes(data, seq))
        pid = os.fork()
        if pid == 0:
            os._exit(child(writer, nodes[0].config, data))
        for seq in range(20, 41):
            writer.write(data.path, seq, frame_bytes(data, seq))
        _, status = os.waitpid(pid, 0)
        expect(status == 0, f"the child: {os.waitstatus_to_exitcode(status)}")
        writer.flush()
        expect(writer.figures().pushed == 41, f"{writer.figures()}")
    check_placed(nodes, data, range(42))
