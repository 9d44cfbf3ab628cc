"""bodhi_write returns although the only node is stopped and will not be found silent for a minute.
Queued frames arrive when the node goes on. A signal meanwhile is the program's own."""
import os
import signal

from bodhi_library import Bodhi, check_placed, frame_bytes
from nodes import Nodes
from processes import expect, wait_until

with Nodes(1) as nodes:
    data = nodes.dataset(frames=100)
    nodes.configure('writer_timeout = "60s"\n')
    nodes[0].start()
    caught = []
    signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
    with Bodhi(nodes[0].config) as writer:
        nodes[0].signal(signal.SIGSTOP)
        for seq in range(100):
            writer.write(data.path, seq, frame_bytes(data, seq))
        expect(writer.figures().waiting == 100, f"{writer.figures()}")
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/status") as file:
                blocked = int(file.read().partition("SigBlk:")[2].split()[0], 16)
            if int(thread) != os.getpid():
                expect(blocked >> (signal.SIGUSR1 - 1) & 1, f"thread {thread} takes signals")
        os.kill(os.getpid(), signal.SIGUSR1)
        expect(caught == [signal.SIGUSR1], "the program's signal")
        nodes[0].signal(signal.SIGCONT)
        writer.flush()
        check_placed(nodes, data, range(100))
    # A thread that has ended may be seen for a moment longer.
    wait_until(lambda: len(os.listdir("/proc/self/task")) == 1, "bodhi_close leaves no thread")
