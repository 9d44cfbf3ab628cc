"""fill = "wait": the open waits for the copy and reads it, so the server sends each byte once."""
import hashlib

from origin_server import MB, OriginServer
from processes import expect

SIZE = 16 * MB

with OriginServer(rate=8 * MB, cached=False) as server:  # two seconds: longer than an answer
    for name in ("f1", "f2"):
        server.write(name, SIZE)
    server.start_node(keys='fill = "wait"')
    for name, readers in (("f1", 1), ("f2", 8)):
        running = [server.start_reader(name) for _ in range(readers)]
        wanted = f"{SIZE} {hashlib.md5(server.content(name)).hexdigest()}"
        for process in running:
            shown = process.finish().succeeded().stdout.strip()
            expect(shown == wanted, f"{name}: {shown}")
        sent = server.sent(name)
        expect(SIZE <= sent <= 1.1 * SIZE, f"{name}: the server sent {sent / SIZE:.2f} times the file")
        server.check_copy(name)
    expect(server.node.status()["fills"] == 2, "each frame is copied once")
