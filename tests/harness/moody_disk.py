"""A node's cache on a disk (on FUSE) that can be told not to finish its writes; for root only.

    with MoodyDisk(nodes, node) as disk:
        nodes.start()
        disk.be_slow()
        disk.be_fast()
"""
import os
import subprocess

from nodes import PROGRAMS, skip
from processes import Process, wait_until

DISK = f"{PROGRAMS}/moody_disk"


class MoodyDisk:
    def __init__(self, nodes, node):
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not os.path.exists(DISK):
            skip("no root, or no FUSE")
        self._nodes, self._node = nodes, node
        backing = nodes.path("backing")
        self._slow = os.path.join(backing, ".slow")
        for directory in (backing, node.cache):
            os.mkdir(directory, 0o700)
        self._process = Process([DISK, backing, node.cache], nodes.env)

    def __enter__(self):
        wait_until(lambda: os.path.ismount(self._node.cache) or not self._process.running(), "the mount")
        if not self._process.running():
            skip("FUSE cannot be mounted here")
        return self

    def be_slow(self):
        open(self._slow, "w").close()

    def be_fast(self):
        os.unlink(self._slow)

    def __exit__(self, kind, error, trace):
        if os.path.exists(self._slow):
            self.be_fast()
        self._node.abandon()
        subprocess.run(["fusermount3", "-u", "-z", self._node.cache], check=False, env=self._nodes.env,
                       stderr=subprocess.DEVNULL)
        self._process.kill_session()
