"""The owner of a directory above a dataset swaps it for a link to another user's private directory.
That happens again and again, or once at the worst moment. Nobody reads the private frames through
the cache. With push = true the daemon itself would read them; without it the other user's own reads
bring them into the cache. Datasets that share the directory do not open it for each other."""
import os

from companion import Companion, exchange, reads_secret
from people import ALICE, BOB, SystemNode
from processes import expect, wait_until
from wire import FILL, SAMPLE, WRITTEN, ask

SECRET, PUBLIC = b"secret of alice", b"public frame .."
NAMES = [f"f{i}" for i in range(8)]
ROUNDS = 15


def fill(user, runtime, data, name):
    """As the shim does it on a miss."""
    def hand_over():
        fd = os.open(data.file(name), os.O_RDONLY)
        try:
            return ask(runtime, FILL, data.path, name, fd)
        finally:
            os.close(fd)
    return user.do(hand_over)


with SystemNode() as node:
    runtime = node.node.runtime
    home, vault = node.nodes.path("origin", "bob"), node.nodes.path("origin", "vault")
    os.makedirs(home)
    pushed = node.dataset(0, name="bob/pushed", keys="push = true")
    fetched = node.dataset(0, name="bob/fetched", keys="push = false")
    other = node.dataset(0, name="bob/other", keys="push = false")
    datasets = (pushed, fetched, other)

    def make(directory, content, user):
        os.makedirs(directory, exist_ok=True)
        for name in NAMES:
            with open(os.path.join(directory, name), "wb") as file:
                file.write(content)
            os.chmod(file.name, 0o644)
            os.chown(file.name, user.uid, user.gid)
        os.chmod(directory, 0o755)
        os.chown(directory, user.uid, user.gid)

    for data in datasets:
        make(data.path, PUBLIC, BOB)
        make(os.path.join(vault, os.path.basename(data.path)), SECRET, ALICE)
        data.frames = set(NAMES)
    for directory, user, mode in ((home, BOB, 0o755), (vault, ALICE, 0o700)):
        os.chown(directory, user.uid, user.gid)
        os.chmod(directory, mode)
    node.start(*datasets)
    copies = [node.copy(data.file(name)) for data in datasets for name in NAMES]
    spies = reads_secret(copies, SECRET)

    def link_beside(path, target):
        link = path + ".link"
        os.symlink(target, link)
        return link

    expect("errno" in BOB.do(lambda: os.open(f"{vault}/pushed/f0", os.O_RDONLY)), "no secret")

    # The daemon's own pushes: Bob does it all alone.
    link = link_beside(pushed.path, f"{vault}/pushed")
    with Companion(BOB, lambda: exchange(pushed.path, link)) as swap, Companion(BOB, spies) as spy:
        wait_until(swap.has_begun, "the directory to be swapped")
        for _ in range(ROUNDS):
            for name in NAMES:
                BOB.do(lambda: os.utime(pushed.file(name)))
                answer = BOB.do(lambda: ask(runtime, WRITTEN, pushed.path, name))
                expect("value" in answer, f"no answer: {answer}")
    expect(spy.found is None, f"bob read {spy.found}, which the daemon pushed")

    # Alice reads by this path, whatever is there.
    link = link_beside(fetched.path, f"{vault}/fetched")
    with Companion(BOB, lambda: exchange(fetched.path, link)) as swap, Companion(BOB, spies) as spy:
        wait_until(swap.has_begun, "the directory to be swapped")
        for _ in range(ROUNDS):
            for name in NAMES:
                fill(ALICE, runtime, fetched, name)
    expect(spy.found is None, f"bob read {spy.found}, which alice had read")

    # Once, at the worst moment: Alice's frames are cached, and then Bob's directory is back. It is opened
    # again for a frame of the same dataset, or above it for one of another.
    if os.path.islink(fetched.path):
        exchange(fetched.path, link)
    link = link_beside(home, vault)
    for data in (fetched, other):
        expect(ask(runtime, SAMPLE, fetched.path) == 0, "the sample failed")
        exchange(home, link)
        with Companion(BOB, spies) as spy:
            for name in NAMES:
                expect(fill(ALICE, runtime, fetched, name) == {"value": 0}, "alice's frame is not cached")
            expect(node.readable_copies(ALICE, [fetched.file(NAMES[0])]), "alice cannot read her copy")
            exchange(home, link)
            for name in NAMES[1:]:
                expect(fill(BOB, runtime, data, name) == {"value": 0}, "bob's frame is not cached")
        expect(spy.found is None, f"bob read {spy.found} when {data.path} was his again")
        expect(data is other or spies() is None, "alice's copies are there still")

    # All is as it should be afterwards: Bob's frames are everybody's again.
    for data in datasets:
        if os.path.islink(data.path):
            exchange(data.path, data.path + ".link")
        expect(ask(runtime, SAMPLE, data.path) == 0, "the sample failed")
        files = [data.file(name) for name in NAMES]
        for user in (ALICE, BOB):
            node.check(user, files, "afterwards")
        node.node.wait_for_copies(data, NAMES)
        expect(node.readable_copies(ALICE, files) == set(files), f"alice cannot read {data.path}")
    expect(spies() is None, "a private frame is left")
