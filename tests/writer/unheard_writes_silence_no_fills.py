"""A program cannot tell its daemon of a frame that it writes, because it has no descriptor, and
then misses a frame. That frame is filled all the same. `zazenctl push` pushes the frames that were
not reported."""
from bodhi_library import check_placed
from nodes import PYTHON, Nodes
from processes import expect, wait_until

PROGRAM = """
import os, resource, sys
known, new, missed = sys.argv[1:]
os.close(os.open(known, os.O_RDONLY))  # the shim has found its node
free = os.dup(0)
os.close(free)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))
written = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
os.write(written, b"frame")
os.close(written)
os.read(os.open(missed, os.O_RDONLY), 1)
"""

# No such number fits into the news that need no descriptor (bodhi/lean/frames/program_news.h).
LARGE = 1 << 50

with Nodes(1) as nodes:
    data = nodes.dataset(frames=2, ordinary=False, keys="push = true")
    nodes.start()
    done = nodes.serial(nodes[0], [PYTHON, "-c", PROGRAM, *(data.file(f"f{seq}") for seq in (0, LARGE, 1))],
                        ZAZEN_LOG="warn").succeeded()
    expect("does not answer: errno 24" in done.stderr, f"the daemon was told after all: {done}")
    nodes[0].wait_for_copies(data, {"f0", "f1"}, 5)
    nodes[0].ctl("push", data.path).succeeded()
    wait_until(lambda: nodes[0].held(data, "native") == 3, "the natives")
    check_placed(nodes, data, (0, 1, LARGE))
