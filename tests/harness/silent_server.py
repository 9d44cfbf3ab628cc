"""An origin whose server has stopped answering, on FUSE; for root only."""
import ctypes
import os
import select
import struct

from processes import expect

MNT_DETACH = 2
FUSE_INIT = 26
libc = ctypes.CDLL(None, use_errno=True)


class SilentServer:
    """A FUSE file system that answers its first message, the kernel's greeting, and no other."""

    def __init__(self, path):
        self.path = path.encode()
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
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
