"""A cache disk that does not finish its writes (on FUSE) takes the cache out of use after half a
minute, and not the jobs; it comes back by itself. Runs for a minute: `ctest -C long -R slow_disk`."""
import os
import subprocess

from nodes import PROGRAMS, Nodes, skip
from processes import Process, expect, run, wait_until

DISK = f"{PROGRAMS}/moody_disk"

if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not os.path.exists(DISK):
    skip("no root, or no FUSE")


def read(nodes, data, names):
    words = ["sha256sum", *(data.file(name) for name in names)]
    done, plain = nodes.serial(nodes[0], words), run(words, nodes.env)
    expect((done.status, done.stdout, done.stderr) == (0, plain.stdout, ""), f"{done}")


with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(1000,), ordinary=False)
    node = nodes[0]
    backing = nodes.path("backing")
    for directory in (backing, node.cache):
        os.mkdir(directory, 0o700)
    disk = Process([DISK, backing, node.cache], nodes.env)
    slow = os.path.join(backing, ".slow")
    try:
        wait_until(lambda: os.path.ismount(node.cache) or not disk.running(), "the mount")
        if not disk.running():
            skip("FUSE cannot be mounted here")
        nodes.start()
        nodes.warm(node, data, ["f0", "f1", "f2"])
        read(nodes, data, ["f0", "f1", "f2"])
        hits = node.status()["hits"]
        expect(hits >= 3, f"copies are read: {hits}")

        open(slow, "w").close()
        read(nodes, data, ["f4"])  # its fill hangs in the flush
        wait_until(lambda: not node.status()["healthy"], "the cache to be out of use", 90)
        problems = node.ctl("status", "-x")
        expect(problems.status == 4 and "slow" in problems.stdout, f"{problems}")
        hits = node.status()["hits"]
        read(nodes, data, sorted(data.frames))
        expect(node.status()["hits"] == hits, "copies are not read")

        os.unlink(slow)
        wait_until(lambda: node.status()["healthy"], "it to come back", 90)
        read(nodes, data, ["f0", "f1", "f2"])
        expect(node.status()["hits"] == hits + 3, "copies are read again")
        nodes.warm(node, data, ["f5"])
        node.stop()
    finally:
        if os.path.exists(slow):
            os.unlink(slow)
        node.abandon()
        subprocess.run(["fusermount3", "-u", "-z", node.cache], check=False, env=nodes.env,
                       stderr=subprocess.DEVNULL)
        disk.kill_session()
