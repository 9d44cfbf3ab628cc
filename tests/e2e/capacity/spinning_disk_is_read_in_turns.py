"""With read_order = "fifo" the daemon reads a copy into memory before the program gets it. A copy
that is in memory costs nothing, and a daemon that does not answer stops nobody."""
import os
import signal

from filesystem import resident_pages
from nodes import Nodes, skip
from processes import Process, expect, run

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(300_000,), ordinary=False)
    small = nodes.dataset(frames=8, name="small", sizes=(100_000,), ordinary=False)
    nodes.configure('read_order = "fifo"\n')
    node = nodes[0]
    node.start()
    names = sorted(data.frames)
    nodes.warm(node, data, names)
    words = ["sha256sum", *map(data.file, names)]
    plain = run(words, nodes.env).succeeded().stdout

    def forget():
        """Out of the page cache; how many went."""
        gone = 0
        for name in names:
            fd = os.open(f"{node.cache}{data.path}/{name}", os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            gone += resident_pages(fd) == 0
            os.close(fd)
        return gone

    def read_at_once():
        """How many of the frames the daemon read in."""
        if forget() != len(names):
            skip("this file system keeps what it is told to forget")
        before = node.status()["read_in"]
        at_once = [Process(["sha256sum", data.file(name)], dict(nodes.env, **nodes.shim(node)))
                   for name in names]
        said = "".join(sorted((p.finish().succeeded().stdout for p in at_once),
                              key=lambda line: line.split()[1]))
        expect(said == plain, f"{said} {plain}")
        return node.status()["read_in"] - before

    # The look whether a copy is in memory starts read-ahead, and a fast disk answers before the
    # look ends (one time in twenty, seen with preadv2 alone): that reader needs no daemon.
    rounds = [read_at_once() for _ in range(5)]
    expect(all(2 * read_in > len(names) for read_in in rounds), f"of {len(names)} by the daemon: {rounds}")
    read_in = node.status()["read_in"]
    nodes.warm(node, small, sorted(small.frames))
    for name in small.frames:
        fd = os.open(f"{node.cache}{small.path}/{name}", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    nodes.serial(node, ["sha256sum", *map(small.file, small.frames)]).succeeded()
    expect(node.status()["read_in"] == read_in, "small copies have no turns")
    nodes.serial(node, words).succeeded()
    expect(node.status()["read_in"] == read_in, "from memory nobody asks")

    forget()
    node.signal(signal.SIGSTOP)
    done = nodes.serial(node, words)
    node.signal(signal.SIGCONT)
    expect(done.succeeded().stdout == plain, "a stopped daemon stops nobody")

    node.stop()
    nodes.configure('read_order = "none"\n')
    node.start()
    forget()
    nodes.serial(node, words).succeeded()
    expect(node.status()["read_in"] == 0, "switched off")
