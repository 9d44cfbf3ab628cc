"""A server reports 0 blocks for each of its files. A frame is then charged for the room that its
copy takes. So the capacity holds, a frame that is nothing but a hole takes nothing, and all
commands show the same figures."""
import json
import os

from origin_server import MB, OriginServer
from processes import expect

SIZE = 6 * MB


def used(server):
    """The bytes of each frame: ls, status and the copies' own blocks agree."""
    listed = json.loads(server.node.ctl("ls", server.path, "--json").succeeded().stdout)["frames"]
    sizes = {frame["name"]: frame["bytes"] for frame in listed}
    status = server.node.status()
    expect(sum(sizes.values()) == status["used_bytes"], f"ls and status: {sizes}, {status}")
    for name, size in sizes.items():
        copy = os.stat(server.node.cache + server.file(name))
        expect(size == min(copy.st_size, copy.st_blocks * 512), f"{name}: {size}, but {copy}")
    return sizes


with OriginServer() as server:
    server.write("f0", SIZE)
    server.write("f1", SIZE)
    with open(os.path.join(server.backing, "f9"), "wb") as hole:
        hole.truncate(64 * MB)
    server.mount()
    server.node.configure([server], extra=f"capacity = {16 * MB}\n")
    server.node.start()
    server.control("blocks 0")
    expect(os.stat(server.file("f0")).st_blocks == 0, "the server tells blocks")

    server.node.ctl("push", server.path).succeeded()
    held = {"f0": SIZE, "f1": SIZE, "f9": 0}
    expect(used(server) == held, f"{used(server)}, not {held}")
    server.write("f2", SIZE)
    refused = server.node.ctl("push", server.path)
    expect(refused.status == 1 and "No space left" in refused.stderr, f"over the capacity: {refused}")
    expect(used(server) == held, f"{used(server)}, not {held}")
    server.check_copy("f0")

    server.node.kill()
    server.node.start()
    expect(used(server) == held, f"after an unclean stop: {used(server)}")
    server.node.stop()
    server.node.start()
    expect(used(server) == held, f"after a clean stop: {used(server)}")
