"""Other files that are cached (`also`) have the rights of their origin, for every combination of
read bits, named users and groups. The rights change with the origin, and a closed directory closes
them."""
import os
import subprocess

from people import ALL, BOB, CAROL, TEAM, SystemNode
from processes import expect, wait_until

MODES = [0o600, 0o640, 0o644, 0o604, 0o040, 0o004, 0o444]
ACLS = ["u::rw,g::-,o::-,u:70002:r", "u::rw,g::r,o::r,u:70002:-", "u::rw,g::-,o::-,g:70100:r"]
OWNERS = [(0, TEAM, 0o640), (BOB.uid, CAROL.gid, 0o440)]

with SystemNode() as node:
    data = node.dataset(2, sizes=(5000,), keys='also = ["*.pdb", "private.gro"]')
    names = [f"c{i}.pdb" for i in range(len(MODES) + len(ACLS) + len(OWNERS))]
    for name in names:
        data.write(name, 3_000)
        os.chown(data.file(name), os.stat(data.path).st_uid, TEAM)
    files = [data.file(name) for name in names]
    for path, mode in zip(files, MODES):
        os.chmod(path, mode)
    for path, acl in zip(files[len(MODES):], ACLS):
        subprocess.run(["setfacl", "-n", "--set", acl, path], check=True)
    for path, (uid, gid, mode) in zip(files[len(MODES) + len(ACLS):], OWNERS):
        os.chown(path, uid, gid)
        os.chmod(path, mode)
    node.start()

    may_read = {user: node.check(user, files, "nothing cached") for user in ALL}
    expect(len({frozenset(paths) for paths in may_read.values()}) == 3, "the users do not differ")
    wanted = {os.path.basename(path) for paths in may_read.values() for path in paths}
    node.wait_for_copies(data, wanted)
    for user in ALL:
        before = node.hits()
        expect(node.check(user, files, "all cached") == may_read[user], "rights changed by reading")
        expect(node.hits() - before == len(may_read[user]), f"{user}: {node.hits() - before} hits")
        expect(node.readable_copies(user, files) == may_read[user], f"{user}")

    # A user who may not read a companion cannot have it cached, nor drop it, nor see it in a listing.
    private = data.file("private.gro")
    data.write("private.gro", 100)
    os.chown(private, 0, 0)
    os.chmod(private, 0o600)
    for user in ALL:
        node.check(user, [private], "root's own")
    expect("private.gro" not in node.node.copies(data), "nobody could read it")

    # A link to another user's file is no companion.
    outside = os.path.join(node.directory, "outside")
    with open(outside, "w") as file:
        file.write("secret")
    os.chmod(outside, 0o600)
    os.symlink(outside, data.file("link.pdb"))
    for user in ALL:
        node.check(user, [data.file("link.pdb")], "a link")
    expect("link.pdb" not in node.node.copies(data), "a link is not cached")

    # A directory that is closed closes the copies.
    os.chmod(data.path, 0o700)
    wait_until(lambda: not node.readable_copies(BOB, files), "the directory to be closed", 30)
    for user in ALL:
        node.check(user, files, "closed")
