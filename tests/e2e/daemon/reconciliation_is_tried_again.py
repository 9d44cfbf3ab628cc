"""After an unclean stop the disk fails (EIO) while the daemon compares its copies. The daemon says
so, serves, and repeats the comparison as soon as the disk works. Until then it does not report a
full cache."""
import shutil

from filesystem import call
from nodes import Nodes, is_sanitized, skip
from processes import expect, wait_until

EIO = 5
FIU = "/usr/lib/fiu/fiu_run_preload.so:/usr/lib/fiu/fiu_posix_preload.so"
FAULT = "posix/io/dir/fdopendir"

if not shutil.which("fiu-ctrl"):
    skip("fiu-utils is not installed")
if is_sanitized():
    skip("fiu comes before the sanitizer")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(1000,), ordinary=False)
    more = nodes.dataset(frames=1, name="more", sizes=(1000,), ordinary=False)
    nodes.configure('capacity = "9kB"\n')
    node = nodes[0]
    node.start()
    nodes.push(data)
    node.kill()

    pipe = nodes.path("fiu")
    node.start(before=("env", f"LD_PRELOAD={FIU}", f"FIU_CTRL_FIFO={pipe}",
                       f"FIU_ENABLE=enable name={FAULT},failinfo={EIO}"))
    # Twice: it was tried again, too.
    wait_until(lambda: node.said().count("not_reconciled") >= 2, "the daemon to say so")
    expect(not node.status()["reconciled"], "it does not know its copies")
    nodes.serial(node, ["cat", *map(data.file, sorted(data.frames))]).succeeded()

    done = node.ctl("warm", more.path)
    expect(done.status == 1 and "Input/output error" in done.stderr and "full" not in done.stderr,
           f"the room is not known: {done}")

    status, said = call("fiu-ctrl", "-f", pipe, "-c", f"disable name={FAULT}", str(node.pid()))
    expect(status == 0, said)
    wait_until(lambda: node.status()["reconciled"], "the daemon to go through its copies")
    expect(node.status()["datasets"][0]["bytes"] == 8000, "all sizes are known")
    node.ctl("warm", more.path).succeeded()
    node.kill()  # fiu's own thread takes SIGTERM, and with it the process's life
