"""A file that is passed under a frame's name is cached only if the client, with its own rights,
sees that very file there. Refused are other files, links, FIFOs, devices, directories, and files in
a directory that the client cannot search. Nothing blocks the daemon."""
import errno
import os

from people import ALICE, ALL, BOB, CAROL, SystemNode
from processes import expect
from wire import FILL, PUSH, PUSH_CONTENT, ask

with SystemNode() as node:
    data = node.dataset(8, sizes=(5000,))
    runtime = node.node.runtime
    node.start()

    def fill(user, name, path, flags=os.O_RDONLY, kind=FILL):
        fd = os.open(path, flags)  # by root, as though another process had passed it to the user
        answer = user.do(lambda: ask(runtime, kind, data.path, name, fd))
        os.close(fd)
        expect("value" in answer, f"{user} has no answer for {name}: {answer}")
        return answer["value"]

    evil = node.nodes.path("evil")
    with open(evil, "w") as file:
        file.write("poison")
    os.chown(evil, CAROL.uid, CAROL.gid)
    expect(fill(CAROL, "f0", evil) == errno.EPERM, "another file was taken")
    expect(fill(CAROL, "f0", data.file("f1")) == errno.EPERM, "another frame was taken")
    expect(fill(CAROL, "f0", "/dev/zero") == errno.EINVAL, "a device was taken")
    expect(fill(CAROL, "f0", data.path) == errno.EINVAL, "a directory was taken")
    expect(fill(CAROL, "f0", data.file("f0"), os.O_PATH) == errno.EBADF, "no right to read")
    expect(fill(CAROL, "f0", data.file("f0"), os.O_WRONLY) == errno.EBADF, "no right to read")
    expect(fill(CAROL, "../sim1/f0", data.file("f0")) == errno.EINVAL, "a path was taken")
    expect(fill(CAROL, "f0/", data.file("f0")) == errno.EINVAL, "a path was taken")

    fifo = node.nodes.path("fifo")
    os.mkfifo(fifo)
    expect(fill(CAROL, "f0", fifo, os.O_RDWR) == errno.EINVAL, "a FIFO was taken")
    os.rename(fifo, data.file("f2"))  # a frame's name that is a FIFO
    expect(fill(CAROL, "f2", data.file("f2"), os.O_RDWR) == errno.EINVAL, "a FIFO was taken")
    os.unlink(data.file("f3"))
    os.symlink(data.file("f1"), data.file("f3"))
    expect(fill(ALICE, "f3", data.file("f3")) == errno.EPERM, "a symbolic link was taken")
    os.unlink(data.file("f4"))
    os.symlink(evil, data.file("f4"))
    expect(fill(CAROL, "f4", evil) == errno.EPERM, "a symbolic link was taken")

    # Another's file under a frame's name: it is the frame, with its own rights.
    secret = node.nodes.path("secret")
    with open(secret, "w") as file:
        file.write("secret")
    os.chmod(secret, 0o600)
    os.unlink(data.file("f5"))
    os.link(secret, data.file("f5"))
    expect(fill(CAROL, "f5", secret) == 0, "a hard link is a frame as any other")
    for user in ALL:
        expect(data.file("f5") not in node.check(user, [data.file("f5")], "a hard link"), "")
        expect(not node.readable_copies(user, [data.file("f5")]), f"{user} reads the secret's copy")

    # Out of the client's reach, although it holds a descriptor.
    os.chmod(data.path, 0o750)
    expect(fill(CAROL, "f1", data.file("f1")) == errno.EACCES, "carol cannot search it")
    expect(fill(BOB, "f1", data.file("f1")) == 0, "bob can, by his group")
    os.chmod(data.path, 0o755)

    # A native is what a writer says is whole.
    for user in (BOB, CAROL):
        expect(fill(user, "f6", data.file("f6"), kind=PUSH) == errno.EACCES, f"{user} pushed")
    expect(fill(ALICE, "f6", data.file("f6"), kind=PUSH) == 0, "alice cannot push")
    node.wait_for_copies(data, {"f1", "f5", "f6"})

    # Content that the origin has not yet is root's word only; once it is there, the origin says who
    # may read it.
    for user in ALL:
        expect(fill(user, "f20", evil, kind=PUSH_CONTENT) == errno.EPERM, f"{user} pushed content")
    with open(evil) as file:
        expect(ask(runtime, PUSH_CONTENT, data.path, "f20", file.fileno()) == 0, "root cannot push")
    new = node.nodes.path("new")
    with open(new, "w") as file:
        file.write("poison")
    os.chown(new, ALICE.uid, ALICE.gid)
    os.chmod(new, 0o600)
    os.rename(new, data.file("f20"))
    for user in (CAROL, ALICE):
        node.check(user, [data.file("f20")], "pushed before it was there")
    node.wait_for_copies(data, {"f1", "f5", "f6", "f20"})
    expect(node.node.status()["datasets"][0]["waiting"] == 0 and
           node.node.held(data, "native") == 2, "it was not adopted")
    for user in ALL:
        expect(bool(node.readable_copies(user, [data.file("f20")])) == (user is ALICE), f"{user} and f20")
        node.check(user, [data.file("f20")], "adopted")
    expect(node.node.status()["healthy"], "the daemon is not well")
    os.unlink(data.file("f2"))
