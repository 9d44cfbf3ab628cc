"""A program that works between its reads of a large frame finds most bytes in the page cache. The
server sends at most twice what the program has read, and the same bytes as ever."""
import hashlib

from origin_server import MB, OriginServer
from processes import expect

SIZE, READ = 64 * MB, 8 * MB
READ_AHEAD = 256 << 10  # at most, by the kernel

with OriginServer(rate=40 * MB) as server:
    for name in ("f1", "f2"):
        server.write(name, SIZE)
    server.write("f999", 1)
    server.start_node()
    server.read("f999").succeeded()  # the worker reads the news of the next misses
    server.wait_for_copy("f999")

    requests = {}
    for name, shim in (("f1", False), ("f2", True)):
        process = server.start_reader(name, end=READ, piece=MB, pause=0.4, shim=shim)
        pid = process.pid
        shown = process.finish().succeeded().stdout.split()
        wanted = hashlib.md5(server.content(name)[:READ]).hexdigest()
        expect(shown == [str(READ), wanted], f"{name}: {shown}")
        requests[shim] = server.asked(pid)[name]
    expect(requests[True] <= 0.75 * requests[False], f"requests without and with the shim: {requests}")
    sent = server.sent("f2")
    expect(sent <= 2 * (READ + READ_AHEAD), f"the server sent {sent} bytes for {READ}")
    expect(not server.copies() - {"f999"}, "little of the frame was read")
