"""Opens and maps a frame, says so, waits for a line, and then prints the bytes and attributes."""
import mmap
import os
import sys
import zlib

path = sys.argv[1]
fd = os.open(path, os.O_RDONLY)
view = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
before = os.fstat(fd)
half = os.pread(fd, before.st_size // 2, 0)
print("ready", flush=True)
sys.stdin.readline()
whole = half + os.pread(fd, before.st_size, len(half))
after = os.fstat(fd)
same = all(getattr(before, field) == getattr(after, field) for field in
           ("st_dev", "st_ino", "st_size", "st_mode", "st_mtime_ns", "st_ctime_ns", "st_nlink"))
print(zlib.adler32(whole), zlib.adler32(view[:]), after.st_dev, after.st_ino, after.st_size,
      after.st_mtime_ns, "same" if same else f"{before} {after}")
