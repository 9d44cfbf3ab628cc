"""A user swaps a directory or a frame for a link to another user's private files (renameat2), or
back. That happens before each single system call of the workers for a fill or a push. The private
bytes are never in a copy that this user can open. Afterwards everybody reads the right frames."""
import os
import random

from companion import exchange, reads_secret
from people import ALICE, BOB, SystemNode
from processes import expect, wait_until
from steps import Steps
from wire import EVICT, FILL, SAMPLE, WRITTEN, ask
from workers import Workers

SECRET, PUBLIC = b"secret of alice", b"public frame .."
WINDOWS = (1, 4, 20)  # steps

with SystemNode() as node:
    runtime = node.node.runtime
    home = node.nodes.path("origin", "bobs", "home")  # Bob's, and so is the directory above it
    vault = node.nodes.path("origin", "vault")
    os.makedirs(home)
    fetched = node.dataset(0, name="bobs/home/fetched", keys="push = false")
    pushed = node.dataset(0, name="bobs/home/pushed", keys="push = true")

    def make(directory, content, user):
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/f0", "wb") as file:
            file.write(content)
        for name, mode in ((directory, 0o755), (file.name, 0o644)):
            os.chmod(name, mode)
            os.chown(name, user.uid, user.gid)

    for data in (fetched, pushed):
        make(data.path, PUBLIC, BOB)
        make(f"{vault}/{os.path.basename(data.path)}", SECRET, ALICE)
    for directory, user, mode in ((home, BOB, 0o755), (os.path.dirname(home), BOB, 0o755), (vault, ALICE, 0o700)):
        os.chown(directory, user.uid, user.gid)
        os.chmod(directory, mode)
    node.start(fetched, pushed)
    copies = [node.copy(data.file("f0")) for data in (fetched, pushed)]

    def told(user, action):
        answer = user.do(action)
        expect("value" in answer, f"{user} has no answer: {answer}")
        return answer["value"]

    def fill(data, path):
        def hand_over():
            fd = os.open(path, os.O_RDONLY)
            try:
                return ask(runtime, FILL, data.path, "f0", fd)
            finally:
                os.close(fd)
        return told(ALICE, hand_over)

    def push(data, path):
        def write():
            os.utime(path)
            return ask(runtime, WRITTEN, data.path, "f0")
        status = told(ALICE, write)

        def is_over():
            writer = node.node.status()["writer"]
            return writer["being_written"] == 0 and writer["waiting"] == 0
        wait_until(is_over, "the push")
        return status

    def look():
        with BOB.effective():
            return reads_secret(copies, SECRET)()

    def start_anew(data):
        """Bob's frames are there, and the cache knows who may enter."""
        expect(ask(runtime, SAMPLE, data.path) == 0, "the sample failed")
        expect(ask(runtime, EVICT, data.path) == 0, "the copies stay")

    def try_steps(data, do, place, target, secret, stride):
        """`do` with a swap before each of its steps, or one of `stride`. Returns how many steps it has, how often
        it was done and how often it went well."""
        link = place + ".link"
        os.symlink(target, link)

        def swap():
            with BOB.effective():
                exchange(place, link)

        workers = Workers(node.node.pid())
        wait_until(lambda: ask(runtime, SAMPLE, data.path) == 0 and do(data, secret) is not None and
                   workers.of(ALICE) and workers.of_uid(BOB.uid), "the workers")
        statuses = []
        with Steps(workers.of_uid(ALICE.uid) + workers.of_uid(BOB.uid), swap, look) as steps:
            def attempt(acts, is_link_first):
                start_anew(data)
                if is_link_first:
                    swap()
                steps.set_out(acts)
                statuses.append(do(data, secret))
                count = steps.halt()
                expect(count > 0, "no worker was seen")
                if os.path.islink(place):
                    swap()
                return count

            most = attempt([], True)
            # The link is there, and goes before this step.
            for step in range(1 + random.randrange(stride), most + 1, stride):
                attempt([step], True)
            # It comes before this step, and goes a few steps later.
            for window in WINDOWS:
                for step in range(1 + random.randrange(3 * stride), most + 1, 3 * stride):
                    attempt([step, step + window], False)
        os.unlink(link)
        expect(steps.found is None, f"{place} was swapped: bob read {steps.found}")
        return most, len(statuses), statuses.count(0)

    for data, do in ((fetched, fill), (pushed, push)):
        name = os.path.basename(data.path)
        secret = f"{vault}/{name}/f0"
        for place, target in ((home, vault), (data.path, f"{vault}/{name}"), (data.file("f0"), secret)):
            stride = 8 if do is push else 1 if place is home else 4
            figures = try_steps(data, do, place, target, secret, stride)
            print("{}, {}: {} steps, {} times, {} went well".format(
                do.__name__, os.path.relpath(place, home), *figures))

    for data in (fetched, pushed):
        expect(ask(runtime, SAMPLE, data.path) == 0, "the sample failed")
        for user in (ALICE, BOB):
            expect(node.check(user, [data.file("f0")], "afterwards") == {data.file("f0")}, f"{user} cannot read")
        node.node.wait_for_copies(data, ["f0"])
        with open(node.copy(data.file("f0")), "rb") as copy:
            expect(copy.read() == PUBLIC, "the copy is not bob's frame")
    expect(node.node.status()["healthy"], "zazend is not well")
