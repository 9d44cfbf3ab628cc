"""A program that misses sends the file server as many requests as without Zazen. The shim does not
open the frame again, nor ask for its attributes."""
from origin_server import OriginServer
from nodes import PYTHON
from processes import Process, expect

READER = """
import os, sys
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 1 << 20):
        pass
    os.close(fd)
"""
SIZES = (4 << 10, 64 << 10, 430 << 10)
COUNT = 10


def requests_of(server, names, shim):
    env = dict(server.env, **server.shim()) if shim else server.env
    process = Process([PYTHON, "-c", READER, *map(server.file, names)], env)
    pid = process.pid
    process.finish().succeeded()
    return server.requests(pid)


def names(first, count):
    return [f"f{seq}" for seq in range(first, first + count)]


with OriginServer() as server:
    # The first frame begins the user's worker, which reads the news of the next ones.
    server.write("f999999", 1)
    for number, size in enumerate(SIZES):
        for name in names(1000 * number, 6 * COUNT):
            server.write(name, size)
    server.start_node()
    server.read("f999999").succeeded()
    server.wait_for_copy("f999999")
    for number, size in enumerate(SIZES):
        first = 1000 * number
        # Twice as many frames: what a process asks once is not counted.
        plain = (requests_of(server, names(first + COUNT, 2 * COUNT), False) -
                 requests_of(server, names(first, COUNT), False))
        missed = (requests_of(server, names(first + 4 * COUNT, 2 * COUNT), True) -
                  requests_of(server, names(first + 3 * COUNT, COUNT), True))
        expect(missed == plain > 0, f"{size} bytes: {missed} requests for {COUNT} misses, {plain} plain")
        for name in names(first + 3 * COUNT, 3 * COUNT):
            server.wait_for_copy(name)
            server.check_copy(name)
