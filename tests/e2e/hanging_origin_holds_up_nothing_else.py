"""An origin whose server does not answer any more stops the sweep, and nothing else: other datasets
are served and filled, and the daemon stops when it is told to. Needs root, for the mount."""
import ctypes
import os
import select
import struct

from nodes import Nodes, skip
from processes import expect, wait_until

MNT_DETACH = 2
FUSE_INIT = 26
libc = ctypes.CDLL(None, use_errno=True)


class SilentServer:
    """A FUSE file system that answers its first message, the kernel's greeting, and no other."""

    def __init__(self, path):
        self.path = path.encode()
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0".encode()
        if libc.mount(b"silent", self.path, b"fuse", 0, options) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        _, opcode, unique = struct.unpack_from("IIQ", os.read(self.fd, 1 << 17))
        expect(opcode == FUSE_INIT, f"not a greeting: {opcode}")
        body = struct.pack("IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0)
        os.write(self.fd, struct.pack("IiQ", 16 + len(body), 0, unique) + body)

    def wait_for_a_question(self, seconds=30):
        """Somebody asks, and will not get an answer. (Once it was read, the kernel would not even let
        who asks be killed.)"""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        expect(ready, "nobody asked")

    def close(self):
        libc.umount2(self.path, MNT_DETACH)
        os.close(self.fd)


if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
    skip("no root, or no FUSE")

with Nodes(1) as nodes:
    hanging = nodes.dataset(frames=20, name="hanging", template="h{seq}", ordinary=False)
    data = nodes.dataset(frames=20, name="data", sizes=(1000,), ordinary=False)
    nodes.configure('sweep = "1s"\n')
    node = nodes[0]
    node.start()
    nodes.push(hanging)
    nodes.push(data)
    try:
        server = SilentServer(hanging.path)
    except OSError as error:
        node.stop()
        skip(f"no FUSE here: {error}")
    try:
        server.wait_for_a_question()  # by the sweep: nothing else uses that dataset
        node.configure([data])  # for zazenctl, which looks at the datasets that it reads of
        names = sorted(data.frames)
        nodes.serial(node, ["cat", *map(data.file, names)]).succeeded()
        node.ctl("evict", data.path).succeeded()
        nodes.warm(node, data, names)
        node.ctl("verify", data.path).succeeded()
        expect(len(node.copies(hanging)) == 20, "copies were dropped because nobody answered")
        node.stop()
    finally:
        server.close()

    # Nothing was lost by it.
    nodes.configure()
    node.start()
    wait_until(lambda: not any(d["checks_each_open"] for d in node.status()["datasets"]),
               "nothing to be in doubt")
    expect(node.held(hanging) == 20, "all copies are there")
