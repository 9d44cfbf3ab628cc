"""chmod, chown and setfacl at the origin apply to copies. With validate = "always" they apply at
once, and to the copies themselves as soon as the daemon has looked."""
import os
import subprocess

from people import ALL, BOB, CAROL, SystemNode
from processes import expect
from wire import SAMPLE, ask


def set_acl(path, acl):
    subprocess.run(["setfacl", "-n", "--set", acl, path], check=True)


CHANGES = [
    lambda path: os.chmod(path, 0o600),
    lambda path: os.chmod(path, 0o640),
    lambda path: os.chmod(path, 0o000),
    lambda path: os.chown(path, CAROL.uid, CAROL.gid),
    lambda path: set_acl(path, "u::rw,g::r,o::r,u:70002:-"),
    lambda path: set_acl(path, "u::rw,g::-,o::-,u:70003:r"),
    lambda path: set_acl(path, "u::rw,g::r,o::-,m::-,u:70002:r"),
]

with SystemNode() as node:
    data = node.dataset(len(CHANGES) + 1, sizes=(20_000,), keys='validate = "always"')
    files = [data.file(f"f{i}") for i in range(len(data.frames))]
    for path in files:
        os.chmod(path, 0o644)
    node.start()
    for user in ALL:
        expect(node.check(user, files, "at first") == set(files), "all can read all")
    node.wait_for_copies(data, data.frames)
    for user in ALL:
        expect(node.readable_copies(user, files) == set(files), f"{user} cannot read the copies")

    for change, path in zip(CHANGES, files):
        change(path)
    may_read = {user: node.check(user, files, "after the changes") for user in ALL}
    expect(len(may_read[BOB]) < len(files) and len(may_read[CAROL]) < len(files), "no test")
    expect(ask(node.node.runtime, SAMPLE, data.path) == 0, "the sample failed")
    for user in ALL:
        more = node.readable_copies(user, files) - may_read[user]
        expect(not more, f"{user} still reads copies of {more}")
    # The copies come back with the new rights.
    may_read = {user: node.check(user, files, "once more") for user in ALL}
    readable = set().union(*may_read.values())
    node.wait_for_copies(data, {os.path.basename(path) for path in readable})
    for user in ALL:
        expect(node.readable_copies(user, files) == may_read[user],
               f"{user}: {node.readable_copies(user, files)}, not {may_read[user]}")

    # Without any program that looks: a sample finds it.
    for path in files:
        subprocess.run(["setfacl", "-b", path], check=True)
        os.chmod(path, 0o600)
    expect(ask(node.node.runtime, SAMPLE, data.path) == 0, "the sample failed")
    for user in (BOB, CAROL):
        owned = {path for path in files if os.stat(path).st_uid == user.uid}
        more = node.readable_copies(user, files) - owned
        expect(not more, f"{user} still reads copies of {more}")
