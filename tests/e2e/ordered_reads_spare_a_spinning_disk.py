"""On a simulated disk with one head, four readers at once seek all the time; where the cache's
device says that it spins, they take turns, and the disk seeks for a fraction of that."""
import os
import time

from filesystem import FileSystem, call, make_image
from nodes import PROGRAMS, PYTHON, SOURCES, Nodes, skip
from processes import Process, expect, wait_until

DISK = f"{PROGRAMS}/seek_disk"
SEEK_US, BYTES_PER_US = 8000, 150  # 8 ms, 150 MB/s
READERS, SIZE = 4, 6_000_000

if not os.path.exists(DISK) or os.geteuid() != 0:
    skip("needs libfuse3-dev and root")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=READERS, sizes=(SIZE,), ordinary=False)
    node = nodes[0]
    names = sorted(data.frames)
    files = [data.file(name) for name in names]
    make_image(nodes.path("image"), 64)
    mounted = nodes.path("disk")
    os.mkdir(mounted)
    disk = Process([DISK, nodes.path("image"), SEEK_US, BYTES_PER_US, "-f", mounted], nodes.env)
    nodes.running.append(disk)
    try:
        wait_until(lambda: os.path.exists(f"{mounted}/disk") or not disk.running(), "the disk")
        if not disk.running():
            skip(f"no FUSE here: {disk.finish()}")

        def seeks():
            with open(f"{mounted}/seeks") as file:
                return int(file.read())

        def measure():
            for name in names:
                fd = os.open(f"{node.cache}{data.path}/{name}", os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)
            before, started = seeks(), time.monotonic()
            done = nodes.serial(node, [PYTHON, f"{SOURCES}/read_at_once.py", *files])
            seconds = time.monotonic() - started
            expect(done.succeeded().stdout.split() == [str(data.sums[name][1]) for name in names],
                   f"{done}")
            return seeks() - before, seconds

        with FileSystem(f"{mounted}/disk", node.cache) as cache:
            figures = {}
            cache.set_queue("read_ahead_kb", 128)  # as disks have it
            for rotational in (False, True):
                cache.set_queue("rotational", int(rotational))
                nodes.configure()
                node.start()
                if not rotational:
                    nodes.warm(node, data, names)
                measure()  # directories and attributes come in, too
                figures[rotational] = measure()
                read_in = node.status()["read_in"]
                expect(read_in == (2 * READERS if rotational else 0), f"read in: {read_in}")
                node.stop()
        for rotational, (count, seconds) in figures.items():
            print(f"rotational {rotational}: {count} seeks, {seconds:.2f} s for "
                  f"{READERS * SIZE / 1e6:.0f} MB")
        expect(figures[True][0] * 4 < figures[False][0], f"seeks: {figures}")
    finally:
        # The loop device lets go of it in its own time.
        wait_until(lambda: not os.path.ismount(mounted) or call("umount", mounted)[0] == 0,
                   "the disk to be free")
        disk.finish()
        nodes.running.remove(disk)
