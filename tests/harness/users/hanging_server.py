"""An origin on FUSE whose frames can be opened until its server hangs; for root, and for root of a user namespace.

Requests of the kernel that come afterwards are not even taken: a process that made one can be killed. (If a
server has taken a request and does not answer, it cannot.) The files have no content: nobody gets so far.
"""
import ctypes
import errno
import os
import select
import stat
import struct
import threading

from processes import expect

MNT_DETACH = 2
LOOKUP, FORGET, GETATTR, OPEN, RELEASE, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 18, 25, 26, 36, 42
ROOT, FIRST, FRAME_BYTES = 1, 2, 1 << 20
libc = ctypes.CDLL(None, use_errno=True)


class HangingServer:
    """A directory of `owner` with the frames f0, f1, ... The frames of a hostile one have the inode numbers from
    `inode` on, and whoever closes a file waits for the server."""

    def __init__(self, path, frames, owner, device="/dev/fuse", inode=None):
        self.path, self._frames, self._owner = path, frames, owner
        self._is_hostile, self._inode = inode is not None, inode or FIRST
        self.fd = os.open(device, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,default_permissions"
        if not self._is_hostile:
            options += ",allow_other"
        if libc.mount(b"hanging", path.encode(), b"fuse", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            ready, _, _ = select.select([self.fd, self._stop], [], [])
            if self._stop in ready:
                return
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOENT, errno.EINTR):
                    continue
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            code, body = self._answer(opcode, node, request[40:])
            os.write(self.fd, struct.pack("<IiQ", 16 + len(body), -code, unique) + body)

    def _answer(self, opcode, node, body):
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0)
        if opcode == LOOKUP:
            name = body.split(b"\0")[0]
            seq = int(name[1:]) if name[:1] == b"f" and name[1:].isdigit() else self._frames
            if seq >= self._frames:
                return errno.ENOENT, b""
            return 0, struct.pack("<QQQQII", FIRST + seq, 0, 0, 0, 0, 0) + self._attributes(FIRST + seq)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if opcode == OPEN:
            return 0, struct.pack("<QII", 0, 0, 0)
        if opcode == RELEASE or opcode == FLUSH and self._is_hostile:
            return 0, b""
        return errno.ENOSYS, b""  # FLUSH, too: the kernel asks once, and never again

    def _attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o644
        inode = node if node == ROOT else self._inode + node - FIRST
        return struct.pack("<QQQQQQIIIIIIIIII", inode, FRAME_BYTES, FRAME_BYTES // 512, 10**9, 10**9, 10**9,
                           0, 0, 0, mode, 1, self._owner.uid, self._owner.gid, 0, 4096, 0)

    def hang(self):
        # From now on nobody's close() asks the server. Otherwise the kernel might wait for it even in a process
        # that was killed: this is what a hostile one is after.
        if not self._is_hostile:
            os.close(os.open(f"{self.path}/f0", os.O_RDONLY))
        os.write(self._stopped, b"s")
        self._thread.join()

    def wait_for_a_question(self, seconds=30):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        expect(ready, "nobody asked")

    def forget(self):
        """In a forked process: those who wait get an error when the server's last descriptor is closed."""
        os.close(self.fd)

    def close(self):
        libc.umount2(self.path.encode(), MNT_DETACH)
        os.close(self.fd)
