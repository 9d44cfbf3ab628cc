"""A file server as the origin: opens for writing leave the copies, writes and stores drop them."""
import os

from nodes import PYTHON
from origin_server import OriginServer
from processes import expect, wait_until

OPEN = "import os, sys\nfor f in sys.argv[1:]: os.close(os.open(f, os.O_RDWR))"
WRITE = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(fd, b"NEW!", 0)
"""
STORE = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
page = mmap.mmap(fd, 0)
os.close(fd)
page[0]
page[0:4] = b"NEW!"
page.close()
"""


def check(cached, before=()):
    with OriginServer(cached=cached) as server:
        names = [f"f{seq}" for seq in range(6)]
        for name in names:
            server.write(name, 20_000)
            if before:
                os.chown(os.path.join(server.backing, name), 12345, 12345)
        server.start_node(before=before)
        node = server.node

        def program(text, *frames):
            argv = [PYTHON, "-c", text, *(server.file(name) for name in frames)]
            server.run(argv).succeeded()
        for name in names:
            server.read(name).succeeded()
        node.wait_for_copies(server, names)
        fills = node.status()["fills"]
        program(OPEN, *names)
        wait_until(lambda: node.copies(server) == set(names), "the copies to be served again")
        for name in names:
            server.read(name).succeeded()
        expect(node.status()["fills"] == fills, "a copy was made anew")
        ways = {"f1": WRITE, "f2": STORE} if cached else {"f1": WRITE}
        for name, text in ways.items():
            program(text, name)
            wait_until(lambda: not node.has_suspended(server), f"{name}: the daemon to have compared it")
            shown = server.run(["head", "-qc", "4", server.file("f0"), server.file(name)])
            expect(shown.stdout.endswith("NEW!"), f"{name}: {shown}")
            copy = node.cache + server.file(name)

            def is_old():
                try:
                    with open(copy, "rb") as file:
                        return file.read(4) != b"NEW!"
                except FileNotFoundError:
                    return False
            expect(not is_old(), f"{name}: the old copy is there")


check(cached=True)
check(cached=False)
# Without leases: the opens and the closings are counted.
if os.geteuid() == 0:
    check(cached=True, before=("setpriv", "--bounding-set=-lease", "--inh-caps=-lease"))
