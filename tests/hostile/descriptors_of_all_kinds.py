"""Descriptors that are no frame's, too many of them, or none where one is required, are refused at
once, and all of them are closed."""
import errno
import os
import select
import socket
import tempfile

from siege import FILL, KEEP_LISTING, PUSH, REQUESTS, Siege, example, expect, frame_packet

MOST_IN_A_MESSAGE = 253

with Siege() as siege, tempfile.TemporaryDirectory() as scratch:
    path = siege.data.path
    fifo = os.path.join(scratch, "fifo")
    os.mkfifo(fifo)
    frame, other = siege.data.file("f1"), os.path.join(scratch, "f1")
    with open(other, "wb") as file:
        file.write(b"poison")
    pair = socket.socketpair()
    reading, writing = os.pipe()
    epoll = select.epoll()
    kinds = {
        "another file": (os.open(other, os.O_RDONLY), errno.EPERM),
        "another frame": (os.open(siege.data.file("f2"), os.O_RDONLY), errno.EPERM),
        "a file for writing": (os.open(frame, os.O_WRONLY), errno.EBADF),
        "a path": (os.open(frame, os.O_PATH), errno.EBADF),
        "a directory": (os.open(path, os.O_RDONLY), errno.EINVAL),
        "a FIFO": (os.open(fifo, os.O_RDWR), errno.EINVAL),
        "a pipe": (reading, errno.EINVAL),
        "a socket": (pair[0].fileno(), errno.EINVAL),
        "a device": (os.open("/dev/zero", os.O_RDONLY), errno.EINVAL),
        "an epoll": (epoll.fileno(), errno.EINVAL),
        "an eventfd": (os.eventfd(0), errno.EINVAL),
        "memory": (os.memfd_create("x"), errno.EPERM),
        "a file of /proc": (os.open("/proc/self/mem", os.O_RDONLY), errno.EPERM),
    }
    for what, (fd, status) in kinds.items():
        for kind in (FILL, PUSH):
            found = siege.ask(frame_packet(kind, path, "f1"), [fd])
            expect(found == status, f"{what} as a frame got {found}, not {status}")
        found = siege.ask(frame_packet(KEEP_LISTING, path), [fd])
        expect(found == errno.EINVAL, f"{what} as a listing got {found}")
        for row in REQUESTS:
            if row.descriptor == "none":
                expect(siege.ask(example(row, path, "f1"), [fd]) is None, f"{row.name} came with {what}")
    for row in REQUESTS:
        if row.descriptor == "one":
            expect(siege.ask(example(row, path, "f1")) is None, f"{row.name} came with nothing")

    fd = os.open(frame, os.O_RDONLY)
    for count in (2, 3, MOST_IN_A_MESSAGE):
        for row in REQUESTS:
            for _ in range(3):
                expect(siege.ask(example(row, path, "f1"), [fd] * count) is None,
                       f"{row.name} came with {count} descriptors")
