"""A frame that is overwritten, truncated, extended or replaced during its copy is not cached.
Another client of the server does it, or a program here."""
import os

from origin_server import MB, OriginServer
from processes import expect, wait_until

SIZE = 16 * MB


def overwrite(path):
    with open(path, "r+b") as file:
        file.seek(SIZE // 2)
        file.write(b"other bytes")


def replace(path):
    with open(path + ".new", "wb") as file:
        file.truncate(SIZE)
    os.rename(path + ".new", path)


CHANGES = {
    "overwritten": overwrite,
    "shorter": lambda path: os.truncate(path, SIZE - 1),
    "longer": lambda path: os.truncate(path, SIZE + 1),
    "replaced": replace,
}

with OriginServer(rate=16 * MB) as server:
    cases = [(how, where) for how in CHANGES for where in ("server", "here")]
    for seq in range(len(cases)):
        server.write(f"f{seq}", SIZE)
    server.start_node()
    server.note_empty_logs()
    for seq, (how, where) in enumerate(cases):
        name = f"f{seq}"
        # More than half: the fill begins soon, and fetches the rest.
        server.read(name, end=9 * MB).succeeded()
        wait_until(lambda: server.sent(name) > 10 * MB, "the fill to begin")
        expect(name not in server.copies(), "the fill is under way")
        directory = server.backing if where == "server" else server.path
        CHANGES[how](os.path.join(directory, name))
        wait_until(lambda: server.node.status()["fills_failed"] == seq + 1, f"{how} {where}")
        server.check_nothing_is_held()
