"""A node whose disk takes much longer than writer_timeout for a flush (on FUSE) is not silent: it says that
it is at work, the frame is sent once, and arrives."""
import os
import subprocess
import time

from bodhi_library import Bodhi, configure_writer, free_addresses, make_key
from nodes import PROGRAMS, Nodes, skip
from processes import Process, expect, wait_until

DISK = f"{PROGRAMS}/moody_disk"
SIZE = 100_000

if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not os.path.exists(DISK):
    skip("no root, or no FUSE")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=0)
    node, key, address = nodes[0], make_key(nodes), free_addresses(1)[0]
    backing = nodes.path("backing")
    for directory in (backing, node.cache):
        os.mkdir(directory, 0o700)
    disk = Process([DISK, backing, node.cache], nodes.env)
    slow = os.path.join(backing, ".slow")
    try:
        wait_until(lambda: os.path.ismount(node.cache) or not disk.running(), "the mount")
        if not disk.running():
            skip("FUSE cannot be mounted here")
        node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\n')
        node.start()
        config = configure_writer(nodes, data, [address], key, 'writer_timeout = "1s"')
        with Bodhi(config) as writer:
            open(slow, "w").close()
            writer.write(data.path, 1, os.urandom(SIZE))
            wait_until(lambda: node.status()["network"]["bytes"] == SIZE, "the content")
            time.sleep(6)  # the flush does not return
            expect(writer.figures().pushed == 0, f"{writer.figures()}")
            expect(writer.nodes()[0][2] == 1, f"it answers: {writer.nodes()}")
            os.unlink(slow)
            writer.flush()
            expect((writer.figures().pushed, writer.figures().dropped) == (1, 0), f"{writer.figures()}")
        network = node.status()["network"]
        expect(network["bytes"] == SIZE, f"sent once: {network}")
        expect(node.held(data, "native") == 1, "it is there")
        node.stop()
    finally:
        if os.path.exists(slow):
            os.unlink(slow)
        node.abandon()
        subprocess.run(["fusermount3", "-u", "-z", node.cache], check=False, env=nodes.env,
                       stderr=subprocess.DEVNULL)
        disk.kill_session()
