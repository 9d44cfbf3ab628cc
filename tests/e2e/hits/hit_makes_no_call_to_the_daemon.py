"""A hit opens the copy by its path below the cache and makes no call to the daemon. A miss makes no
call either: the user's worker reads of it in shared memory."""
import shutil

from nodes import SHIM, Nodes, skip
from processes import expect, run

if not shutil.which("strace"):
    skip("strace is not installed")


def trace(nodes, path):
    out = nodes.path("trace")
    argv = ["strace", "-f", "-e", "trace=openat,open,connect,sendmsg,sendto", "-o", out,
            "-E", f"LD_PRELOAD={SHIM}", "-E", f"ZAZEN_CONFIG={nodes[0].config}", "cat", path]
    run(argv, nodes.env).succeeded()
    with open(out) as file:
        return file.read().splitlines()


with Nodes(1) as nodes:
    data = nodes.dataset(frames=4)
    nodes.start()
    path = data.file("f3")
    missed = trace(nodes, path)
    # The worker began when the daemon was asked for its status.
    expect(not any("connect(" in line or "send" in line for line in missed), f"a call: {missed}")
    opens = sum(f'"{path}"' in line or "/proc/self/fd" in line for line in missed)
    expect(opens == 1, f"a miss opens the origin {opens} times: {missed}")
    nodes.wait_for_aliens(data, 1)
    trace(nodes, path)  # the first hit of a dataset may ask for a sample (D10)
    hit = trace(nodes, path)
    copy = nodes[0].cache + path
    expect(any(copy in line for line in hit), f"a hit opens {copy}: {hit}")
    expect(not any("connect(" in line or "send" in line for line in hit), f"a call: {hit}")
    expect(not any(f'"{path}"' in line for line in hit), f"the origin was opened: {hit}")
