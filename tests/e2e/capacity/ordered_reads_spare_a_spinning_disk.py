"""On a simulated disk with one head, four readers at once seek all the time. With read_order =
"auto" the daemon measures the cost of a seek. The readers then take turns, and the seeks take a
fraction of that time, even if the device claims not to rotate. Where a seek costs nothing there are
no turns. A program that reads headers only does not wait for whole copies."""
import os
import time

from filesystem import FileSystem, call, make_image, resident_pages
from nodes import PROGRAMS, PYTHON, SOURCES, Nodes, skip
from processes import Process, expect, wait_until

DISK = f"{PROGRAMS}/seek_disk"
SEEK_US, BYTES_PER_US = 8000, 150  # 8 ms, 150 MB/s
READERS, SIZE, LARGE = 4, 6_000_000, 12_000_000

if not os.path.exists(DISK) or os.geteuid() != 0:
    skip("needs libfuse3-dev and root")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=READERS, sizes=(SIZE,), ordinary=False)
    node = nodes[0]
    names = sorted(data.frames)
    files = [data.file(name) for name in names]
    large = nodes.dataset(frames=2, name="large", sizes=(LARGE,), ordinary=False)
    make_image(nodes.path("image"), 96)
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

        def forget(path):
            fd = os.open(node.cache + path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

        def measure():
            for path in files:
                forget(path)
            before, started = seeks(), time.monotonic()
            done = nodes.serial(node, [PYTHON, f"{SOURCES}/read_at_once.py", *files])
            seconds = time.monotonic() - started
            expect(done.succeeded().stdout.split() == [str(data.sums[name][1]) for name in names],
                   f"{done}")
            return seeks() - before, seconds

        def read_order():
            return node.status()["read_order"]

        def start(order, rotational):
            """The daemon, once it has decided."""
            cache.set_queue("rotational", rotational)
            cache.set_queue("read_ahead_kb", 128)  # as disks have it
            nodes.configure(f'read_order = "{order}"\n')
            node.start()
            wait_until(lambda: order != "auto" or read_order()["measured"], "what a seek costs")

        def read_headers():
            """Of the large frames; the part of each copy that is in memory afterwards."""
            paths = [large.file(name) for name in sorted(large.frames)]
            for path in paths:
                forget(path)
            before = node.status()["read_in"]
            nodes.serial(node, ["head", "-q", "-c", "100", *paths]).succeeded()
            turns = node.status()["read_in"] - before
            expect(turns == len(paths), f"each had a turn: {turns}")
            parts = []
            for path in paths:
                with open(node.cache + path, "rb") as copy:
                    parts.append(resident_pages(copy.fileno()) * 4096 / LARGE)
            print(f"in memory after reads of headers: {parts}")
            return parts

        with FileSystem(f"{mounted}/disk", node.cache) as cache:
            figures = {}
            start("none", 0)
            nodes.warm(node, data, names)
            nodes.warm(node, large, sorted(large.frames))
            for order in ("none", "auto"):
                if order == "auto":
                    node.stop()
                    start(order, 0)
                measure()  # directories and attributes come in, too
                figures[order] = measure()
                read_in = node.status()["read_in"]
                expect(read_in == (2 * READERS if order == "auto" else 0), f"read in: {read_in}")
            found = read_order()
            expect(found["ordered"] and 4 < found["seek_ms"] < 80, f"{found}")
            expect(f"\nreads     ordered, a seek costs {found['seek_ms']:.1f} ms\n" in node.ctl("status").stdout,
                   "status")
            expect(f"ordered, a seek costs {found['seek_ms']:.1f} ms" in node.ctl("doctor").stdout, "doctor")
            expect("event=read_order ordered=yes seek_ms=" in node.said(), node.said())

            # Headers only: a few megabytes of each, not the whole copy. On a busy machine a program may
            # come to close a copy late.
            expect(any(max(read_headers()) < 0.7 for _ in range(20)), "whole copies were read for headers")
            node.stop()

            # The same device, and seeks cost nothing.
            with open(f"{mounted}/seek_us", "w") as file:
                file.write("0")
            start("auto", 1)
            found = read_order()
            expect(not found["ordered"] and found["seek_ms"] < 2, f"{found}")
            measure()
            expect(node.status()["read_in"] == 0, "no turns")
            expect("\nreads     not ordered, a seek costs " in node.ctl("status").stdout, "status")
            node.stop()
        for order, (count, seconds) in figures.items():
            print(f"{order}: {count} seeks, {seconds:.2f} s for "
                  f"{READERS * SIZE / 1e6:.0f} MB")
        expect(figures["auto"][0] * 4 < figures["none"][0], f"seeks: {figures}")
    finally:
        # The loop device lets go of it in its own time.
        wait_until(lambda: not os.path.ismount(mounted) or call("umount", mounted)[0] == 0,
                   "the disk to be free")
        disk.finish()
        nodes.running.remove(disk)
