"""`push = true` with no daemon, a stopped one, or no node that answers: a program writes as
without Zazen. A stopped daemon that goes on pushes the frames that it was told of. A daemon that
ends says how many frames it has not pushed. `zazenctl push` pushes them and those that no daemon
was told of."""
import signal
import time

from bodhi_library import check_placed, frame_bytes
from nodes import Nodes
from processes import expect, wait_until

MUCH_TOO_LONG = 10  # seconds; the machine may be busy


def write(nodes, data, seqs):
    words = " ".join(str(seq) for seq in seqs)
    began = time.monotonic()
    done = nodes.serial(nodes[0], ["sh", "-c", f"cd {data.path}; for i in {words}; do "
                                               "echo frame $i > f$i; done; cat f*; pwd"])
    seconds = time.monotonic() - began
    expect((done.status, done.stderr) == (0, ""), f"{done}")
    expect(seconds < MUCH_TOO_LONG, f"it took {seconds} s")
    for seq in seqs:
        expect(frame_bytes(data, seq) == f"frame {seq}\n".encode(), f"frame {seq}")


with Nodes(2) as nodes:
    data = nodes.dataset(frames=0, ordinary=False, keys="push = true")
    for node in nodes:
        node.configure(nodes.datasets, "", [f"unix:{nodes[1].runtime}"])
    write(nodes, data, range(10))

    for node in nodes:
        node.start()
    nodes[0].signal(signal.SIGSTOP)
    write(nodes, data, range(10, 20))
    expect(not nodes[1].copies(data), "who has pushed it?")
    nodes[0].signal(signal.SIGCONT)
    wait_until(lambda: nodes[1].held(data, "native") == 10, "what was written meanwhile")
    check_placed(nodes, data, range(10, 20), [nodes[1]])
    wait_until(lambda: nodes[0].status()["writer"]["waiting"] == 0, "the answers")

    nodes[1].kill()
    write(nodes, data, range(20, 25))
    wait_until(lambda: nodes[0].status()["writer"]["waiting"] == 5, "them to wait")
    expect("event=frames_not_pushed waiting=5 being_written=0" in nodes[0].stop(), "no word")

    for node in nodes:
        node.start()
    nodes[0].ctl("push", data.path).succeeded()
    check_placed(nodes, data, range(25), [nodes[1]])
