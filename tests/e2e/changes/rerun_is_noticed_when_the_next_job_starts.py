"""A simulation is run again over cached frames, in place, with the same sizes and with the old
times restored. The next job gets no stale byte: serial, many at once, with threads, or MPI."""
import os
import zlib

from nodes import PYTHON, Nodes
from processes import Process, expect

# Reads all frames by as many threads, which start together.
THREADS = """
import os, sys, threading, zlib
paths = sys.argv[1:]
together = threading.Barrier(len(paths))
sums = {}
def read(path):
    together.wait()
    fd = os.open(path, os.O_RDONLY)
    sums[path] = zlib.adler32(os.read(fd, 1 << 20))
    os.close(fd)
threads = [threading.Thread(target=read, args=(path,)) for path in paths]
for thread in threads: thread.start()
for thread in threads: thread.join()
for path in paths: print(sums[path])
"""
FRAMES = 60


def run_again(data, but=()):
    """Same names, inodes, sizes, mtimes; other bytes, of all frames but these."""
    for number, name in enumerate(sorted(data.frames)):
        if name in but:
            continue
        size = data.sums[name][0]
        before = os.stat(data.file(name))
        content = bytes([data.generation + number & 255]) * size
        with open(data.file(name), "r+b") as file:
            file.write(content)
        os.utime(data.file(name), ns=(before.st_atime_ns, before.st_mtime_ns))
        data.sums[name] = (size, zlib.adler32(content))
    data.generation += 100


with Nodes(3) as nodes:
    kinds = ("serial", "many", "threads", "job", "job_after_a_sample", "partly")
    serial, many, threads, job, sampled, partly = datasets = [
        nodes.dataset(frames=FRAMES, name=name, sizes=(4096, 100, 20_000), ordinary=False)
        for name in kinds]
    for data in datasets:
        data.generation = 1
        for name in data.frames:  # an hour old: nothing is young
            os.utime(data.file(name), (1e9, 1e9))
    nodes.start()
    for data in datasets:
        nodes.push(data)
    node = nodes[0]
    one = sorted(node.copies(sampled))[0]
    nodes.serial(node, ["cat", sampled.file(one)]).succeeded()
    # The node may find stale copies by itself, a moment after they are.
    names = sorted(node.copies(serial))
    expect(len(names) == FRAMES // 3, f"{names}")
    for data in datasets[:-1]:
        run_again(data)

    def sums_of(data, names):
        return "".join(f"{data.sums[name][1]}\n" for name in names)

    def check(process, data, names, what):
        expect(process.succeeded().stdout == sums_of(data, names), f"{what} got old bytes: {process}")

    script = "import sys, zlib\nfor p in sys.argv[1:]: print(zlib.adler32(open(p, 'rb').read()))"
    check(nodes.serial(node, [PYTHON, "-c", script, *map(serial.file, names)]), serial, names,
          "a serial program")

    # Some begin with a frame that others have fetched anew by then.
    names = sorted(node.copies(many))
    processes = []
    for first in range(12):
        order = names[first:] + names[:first]
        processes.append((order, Process([PYTHON, "-c", script, *map(many.file, order)],
                                         dict(nodes.env, **nodes.shim(node)))))
        nodes.running.append(processes[-1][1])
    for order, process in processes:
        nodes.running.remove(process)
        check(process.finish(), many, order, "one of many programs")
    # And again, when some are fresh.
    order = names[::-1]
    check(nodes.serial(node, [PYTHON, "-c", script, *map(many.file, order)]), many, order,
          "a program after the others")

    names = sorted(node.copies(threads))
    check(nodes.serial(node, [PYTHON, "-c", THREADS, *map(threads.file, names)]), threads, names,
          "a program with threads")

    nodes.mpirun("list_and_read_c", job).check_exactly_once()
    nodes.mpirun("list_and_read_c", sampled).check_exactly_once()
    for data in (job, sampled):
        run_again(data)
        nodes.mpirun("list_and_read_c", data).check_exactly_once()

    # All but those that the ranks open first, a moment after a job has had the copies compared.
    before = nodes.mpirun("list_and_read_c", partly)
    before.check_exactly_once()
    run_again(partly, but={output.read[0][0] for output in before.ranks})
    nodes.mpirun("list_and_read_c", partly).check_exactly_once()
