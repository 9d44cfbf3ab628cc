"""A user who is root in a user namespace of their own may do the same as outside, and no more.
Nothing that they mount over a dataset there gets into the cache. They can read or drop no copy of
others."""
import errno
import os

from forked import start_as
from namespaces import bind, can_mount, enter_namespace, leave_for_namespace, mount, require_namespaces
from people import ALICE, ALL, BOB, CAROL, SystemNode, User
from processes import expect
from wire import FILL, FOUND_STALE, INVALIDATE, PUSH, REQUESTS, answer_to, ask, example
from workers import Workers, status_of

CAP_LEASE = 1 << 28
SUBORDINATE = User("a subordinate of bob's", 270_000)
POISON = b"poison"

require_namespaces()
with SystemNode() as node:
    data = node.dataset(4, sizes=(5000,))
    files = [data.file(name) for name in sorted(data.frames)]
    private = data.file("f1")
    os.chmod(private, 0o600)
    evil = node.nodes.path("evil")  # Bob's: a directory with a frame, and what an overlay needs
    for directory in ("", "/sim", "/upper", "/work"):
        os.mkdir(evil + directory)
        os.chown(evil + directory, BOB.uid, BOB.gid)
    with open(f"{evil}/sim/f0", "wb") as file:
        file.write(POISON)
    os.chmod(file.name, 0o644)
    os.chown(file.name, BOB.uid, BOB.gid)
    node.start()
    runtime = node.node.runtime
    workers = Workers(node.node.pid())
    for user in ALL:
        node.check(user, files, "at first")
    node.wait_for_copies(data, data.frames)

    # Each message gets the answer that it gets outside.
    def statuses():
        with open(data.file("f0"), "rb") as file:
            passed = {"one": file.fileno(), "none": None}
            return [answer_to(runtime, example(row, data.path, "f0"), passed.get(row.descriptor)) for row in REQUESTS]

    def inside(action):
        def enter_and_do():
            enter_namespace()
            expect(os.getuid() == 0, "not root of the namespace")
            return action()
        return enter_and_do

    plain, shown = BOB.do(statuses), BOB.do(inside(statuses))
    expect(shown == plain and "value" in plain, f"as root of a namespace bob is told {shown}, not {plain}")
    denied = plain["value"].count(errno.EACCES) + plain["value"].count(errno.EPERM)
    expect(denied >= 5, f"bob may do all: no test: {plain}")
    expect(node.node.copies(data) == data.frames, f"copies are gone: {node.node.copies(data)}")
    for pid in workers.of_uid(BOB.uid):
        rights = int(status_of(pid)["CapEff"], 16)
        expect(rights & ~CAP_LEASE == 0, f"a worker of bob's has {rights:x}")

    # Files that others may not read.
    for path in (node.copy(private), node.node.cache + "/.zazen", runtime + "/lock"):
        answer = BOB.do(inside(lambda: os.open(path, os.O_RDONLY)))
        expect(answer == {"errno": errno.EACCES}, f"{path} opens in a namespace: {answer}")

    # Only Bob sees a mount over the dataset.
    ways = {
        "a frame": lambda: bind(f"{evil}/sim/f0", data.file("f0")),
        "a directory": lambda: bind(f"{evil}/sim", data.path),
        "a tmpfs": lambda: (mount("none", data.path, "tmpfs"), make_frame()),
    }
    layers = f"lowerdir={data.path},upperdir={evil}/upper,workdir={evil}/work,userxattr"
    if can_mount("none", data.path, "overlay", 0, layers):
        ways["an overlay"] = lambda: (mount("none", data.path, "overlay", 0, layers), make_frame())
    if can_mount("none", "/tmp", "overlay", 0, f"lowerdir={data.path}:{evil}"):
        ways["an overlay without a change"] = lambda: mount("none", data.path, "overlay", 0,
                                                            f"lowerdir={data.path}:{evil}")

    def make_frame():
        if os.path.exists(data.file("f0")):
            os.unlink(data.file("f0"))
        with open(data.file("f0"), "wb") as file:
            file.write(POISON)

    def hand_over(mounts):
        mounts()
        told = []
        for kind in (FILL, PUSH):
            fd = os.open(data.file("f0"), os.O_RDONLY)
            told.append(ask(runtime, kind, data.path, "f0", fd))
            os.close(fd)
        told.append(ask(runtime, INVALIDATE, data.path, "f0", flags=FOUND_STALE))
        return told

    for what, mounts in ways.items():
        for is_cached in (True, False):
            if not is_cached:
                node.node.ctl("evict", data.path).succeeded()
            answer = BOB.do(inside(lambda: hand_over(mounts)))
            expect("value" in answer, f"{what}: {answer}")
            fill, push, invalidate = answer["value"]
            expect(fill == errno.EPERM and push in (errno.EPERM, errno.EACCES), f"{what} was taken: {answer}")
            expect(invalidate == 0, f"{what}: {answer}")
            expect(node.node.copies(data) == (data.frames if is_cached else set()),
                   f"{what}: copies {node.node.copies(data)}")
        for user in (ALICE, BOB, CAROL):
            node.check(user, files, f"after {what}")
        node.wait_for_copies(data, data.frames)

    # Other users of the namespace, as newuidmap gives them, are their own users outside.
    ready, go = os.pipe(), os.pipe()

    def be_subordinate():
        leave_for_namespace()
        os.write(ready[1], b"r")
        os.read(go[0], 1)
        os.setgroups([])
        os.setresgid(1, 1, 1)
        os.setresuid(1, 1, 1)
        expect(statuses() == plain_subordinate["value"], "it may do other things")
        os.write(ready[1], b"s")
        os.read(go[0], 1)

    plain_subordinate = SUBORDINATE.do(statuses)
    pid = start_as(BOB, be_subordinate)
    os.read(ready[0], 1)
    for name, outside in (("uid_map", BOB.uid), ("gid_map", BOB.gid)):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(f"0 {outside} 1\n1 {SUBORDINATE.uid} 10\n")
    os.write(go[1], b"g")
    os.close(ready[1])
    served = os.read(ready[0], 1) == b"s"
    has_worker = len(workers.of(SUBORDINATE)) == 1
    os.write(go[1], b"g")
    expect(os.waitpid(pid, 0)[1] == 0 and served and has_worker, "the subordinate user was not served")
    for user in ALL:
        node.check(user, files, "afterwards")
    expect(node.node.status()["healthy"], "zazend is not well")
