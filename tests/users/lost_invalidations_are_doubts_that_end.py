"""While an origin does not answer, a user sends more invalidations than are kept. After that each
open of the dataset is checked. It ends when the origin answers and all copies have been compared,
also without any sweep."""
import os

from nodes import skip
from people import BOB, SystemNode
from processes import expect, wait_until
from silent_server import SilentServer
from wire import INVALIDATE, connect, message

LONGEST_QUEUE, OF_A_CLIENT = 1024, 200  # 256 of a client's may be open

if not os.path.exists("/dev/fuse"):
    skip("no FUSE")

with SystemNode() as node:
    data = node.dataset(4, sizes=(1000,))
    for name in data.frames:
        os.chmod(data.file(name), 0o644)
    node.start(extra='sweep = "off"\n')
    node.nodes.push(data)

    def is_checked():
        return [d for d in node.node.status()["datasets"] if d["path"] == data.path][0]["checks_each_open"]
    wait_until(lambda: not is_checked(), "all copies to be compared after the start")

    try:
        server = SilentServer(data.path)
    except OSError as error:
        skip(f"no FUSE here: {error}")
    clients = []
    try:
        os.setegid(BOB.gid)
        os.seteuid(BOB.uid)
        try:
            for _ in range(LONGEST_QUEUE // OF_A_CLIENT + 3):
                clients.append(connect(node.node.runtime))
                for _ in range(OF_A_CLIENT):
                    clients[-1].send(message(INVALIDATE, data.path, "f1"))
        finally:
            os.seteuid(0)
            os.setegid(0)
        # A look for leaks waits for every thread, and zazenctl leaves one behind in the origin.
        node.nodes.env["ASAN_OPTIONS"] = "detect_leaks=0"
        wait_until(is_checked, "the doubt")
    finally:
        server.close()
    wait_until(lambda: not is_checked(), "the doubt to end")
    for client in clients:
        client.close()
    expect(node.node.copies(data) == data.frames, "no copy was stale")
