"""A small ext4 file system in a file, mounted; for root only. And which pages of a file are in memory."""
import ctypes
import mmap
import os
import subprocess

from nodes import skip
from processes import expect


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def make_image(image, megabytes):
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)


libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def resident_pages(fd):
    """By mincore: a read with RWF_NOWAIT would start to read ahead."""
    size = os.fstat(fd).st_size
    pages = ctypes.create_string_buffer((size + 4095) // 4096)
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    libc.mincore(address, size, pages)
    libc.munmap(address, size)
    return sum(byte & 1 for byte in pages.raw)


class FileSystem:
    """In an image of that size, or in one that is there."""

    def __init__(self, image, place, megabytes=None):
        if os.geteuid() != 0:
            skip("mounting needs root")
        self.place = place
        os.makedirs(place)
        if megabytes is not None:
            make_image(image, megabytes)
        self._must("mkfs.ext4", "-q", "-F", "-m", "0", image)
        status, said = call("mount", "-o", "loop", image, place)
        if status != 0:
            skip(f"no loop devices here: {said}")
        os.chmod(place, 0o700)

    def _must(self, *words):
        status, said = call(*words)
        expect(status == 0, f"{words}: {said}")

    def remount(self, option):
        self._must("mount", "-o", f"remount,{option}", self.place)

    def set_queue(self, key, value):
        """Sets an attribute of the block device, such as rotational."""
        device = os.stat(self.place).st_dev
        with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/queue/{key}",
                  "w") as file:
            file.write(str(value))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._must("umount", self.place)
        else:
            call("umount", "--lazy", self.place)
