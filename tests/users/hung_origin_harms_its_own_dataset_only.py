"""While the origin of one dataset does not answer, revoked rights to another dataset take effect
within seconds, and its users' requests are answered."""
import os

from nodes import skip
from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until
from silent_server import SilentServer
from wire import INVALIDATE, LIST, SAMPLE, ask, connect, message

REQUESTS = 16  # more than there are threads for a dataset, and for all of them before


def answers(node, user, kind, data, name=""):
    """The answer to the user: 0 or an errno."""
    return user.do(lambda: ask(node.node.runtime, kind, data.path, name))["value"]


if not os.path.exists("/dev/fuse"):
    skip("no FUSE")

with SystemNode() as node:
    hung = node.dataset(4, name="hung", sizes=(1000,))
    data = node.dataset(8, name="data", sizes=(1000,))
    files = [data.file(name) for name in sorted(data.frames)]
    for path in files:
        os.chmod(path, 0o644)
    node.start()
    node.nodes.push(hung)
    node.nodes.push(data)
    wait_until(lambda: node.readable_copies(CAROL, files) == set(files), "the rights")

    try:
        server = SilentServer(hung.path)
    except OSError as error:
        skip(f"no FUSE here: {error}")
    waiting = []
    try:
        def connect_as_bob():
            os.setegid(BOB.gid)
            os.seteuid(BOB.uid)
            try:
                return connect(node.node.runtime)
            finally:
                os.seteuid(0)
                os.setegid(0)

        for i in range(REQUESTS):
            client = connect_as_bob()
            kind, name = (INVALIDATE, "f1") if i % 2 else (SAMPLE, "")
            client.send(message(kind, hung.path, name))
            waiting.append(client)
        server.wait_for_a_question()

        # Requests for the other dataset are answered.
        for user in (BOB, CAROL):
            expect(answers(node, user, SAMPLE, data) == 0, f"{user}'s sample")
            expect(answers(node, user, LIST, data) == 0, f"{user}'s list")
        everything = BOB.do(lambda: ask(node.node.runtime, LIST, ""))["value"]
        expect(everything == 0, "bob's list of all datasets")
        expect(answers(node, ALICE, INVALIDATE, data, "f0") == 0, "alice's invalidation")
        expect("f0" not in node.node.copies(data), "the copy stayed")

        # Without any request: by what the daemon does for itself.
        files.remove(data.file("f0"))
        expect(node.readable_copies(CAROL, files) == set(files), "carol reads")
        os.chmod(data.path, 0o750)
        wait_until(lambda: not node.readable_copies(CAROL, files), "carol to be shut out")
        expect(node.readable_copies(BOB, files) == set(files), "bob is in the group")

        # Nobody who asked for the hung one was told anything.
        for client in waiting:
            client.setblocking(False)
            try:
                expect(False, f"answered: {client.recv(100)}")
            except BlockingIOError:
                pass
            client.close()
        node.node.stop()
    finally:
        server.close()
