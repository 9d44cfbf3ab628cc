"""A frame that is written after its directory was closed is never readable for others through the
cache, not even for a moment. The directory is the dataset's own or one of a frame's name."""
import os

from companion import Companion, reads_secret
from people import ALICE, BOB, SystemNode
from processes import expect, wait_until
from wire import FILL, SAMPLE, ask

SECRET = b"written after the directory was closed"
ROUNDS = 25

with SystemNode() as node:
    runtime = node.node.runtime
    flat = node.dataset(1, name="flat", sizes=(1000,))
    nested = node.dataset(1, name="nested", template="run/{seq}/traj", sizes=(1000,))
    for top, _, _ in os.walk(nested.path):
        os.chown(top, ALICE.uid, ALICE.gid)
    node.start(flat, nested)

    def write_and_read(data, name):
        """Alice's program, and what the shim does for it."""
        os.makedirs(os.path.dirname(data.file(name)), exist_ok=True)
        with open(data.file(name), "wb") as file:
            file.write(SECRET)
        os.chmod(file.name, 0o644)
        fd = os.open(file.name, os.O_RDONLY)
        try:
            return ask(runtime, FILL, data.path, name, fd)
        finally:
            os.close(fd)

    for data, closed in ((flat, flat.path), (nested, nested.path + "/run"), (nested, nested.path)):
        for i in range(ROUNDS):
            name = f"f{100 + i}" if data is flat else f"run/{100 + i}/traj"
            ALICE.do(lambda: os.chmod(closed, 0o755))
            expect(ask(runtime, SAMPLE, data.path) == 0, "the sample failed")
            with Companion(BOB, reads_secret([node.copy(data.file(name))], SECRET)) as spy:
                wait_until(spy.has_begun, "bob to look")
                ALICE.do(lambda: os.chmod(closed, 0o700))
                answer = ALICE.do(lambda: write_and_read(data, name))
                expect(answer == {"value": 0}, f"alice's frame is not cached: {answer}")
                expect(node.readable_copies(ALICE, [data.file(name)]), "alice cannot read it")
            expect(spy.found is None, f"{closed}, round {i}: bob read {spy.found}")
            ALICE.do(lambda: os.remove(data.file(name)))
            ALICE.do(lambda: os.chmod(closed, 0o755))
            expect(ask(runtime, SAMPLE, data.path) == 0, "the sample failed")
