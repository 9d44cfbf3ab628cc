"""Through the shim, and from the copies themselves, a user reads exactly the frames that the user
may read at the origin. The test covers every combination of read bits, named users and groups,
masks and owners."""
import os
import subprocess

from people import ALL, BOB, CAROL, TEAM, SystemNode
from processes import expect

MODES = [0o600, 0o640, 0o644, 0o604, 0o040, 0o004, 0o044, 0o000, 0o400, 0o444, 0o464]
ACLS = [
    "u::rw,g::-,o::-,u:70002:r", "u::rw,g::r,o::r,u:70002:-", "u::rw,g::-,o::-,g:70100:r",
    "u::rw,g::r,o::r,g:70100:-", "u::rw,g::r,o::-,u:70003:r,m::-", "u::rw,g::-,o::r,g:70100:r,m::-",
    "u::rw,g::-,o::-,u:70003:rw,g:70002:r,m::r", "u::-,g::r,o::r,u:70001:r",
    "u::rw,g::r,o::-,u:70002:-,u:70003:r", "u::rw,g::-,o::r,g:70100:-,g:70002:r",
]
OWNERS = [(0, 0, 0o640), (0, TEAM, 0o640), (BOB.uid, CAROL.gid, 0o440), (CAROL.uid, TEAM, 0o060),
          (BOB.uid, 0, 0o604)]

with SystemNode() as node:
    data = node.dataset(len(MODES) + len(ACLS) + len(OWNERS), sizes=(5000, 100_003))
    files = [data.file(f"f{i}") for i in range(len(data.frames))]
    for path, mode in zip(files, MODES):
        os.chmod(path, mode)
    for path, acl in zip(files[len(MODES):], ACLS):
        subprocess.run(["setfacl", "-n", "--set", acl, path], check=True)
    for path, (uid, gid, mode) in zip(files[len(MODES) + len(ACLS):], OWNERS):
        os.chown(path, uid, gid)
        os.chmod(path, mode)
    node.start()

    may_read = {user: node.check(user, files, "nothing cached") for user in ALL}
    for user in ALL:
        expect(0 < len(may_read[user]) < len(files), f"the test is no test: {may_read}")
    expect(len({frozenset(paths) for paths in may_read.values()}) == 3, "the users do not differ")
    wanted = {os.path.basename(path) for paths in may_read.values() for path in paths}
    node.wait_for_copies(data, wanted)

    for user in ALL:
        before = node.hits()
        expect(node.check(user, files, "all cached") == may_read[user], "rights changed by reading")
        hits = node.hits() - before
        expect(hits == len(may_read[user]), f"{user}: {hits} hits, not {len(may_read[user])}")
        direct = node.readable_copies(user, files)
        expect(direct == may_read[user],
               f"{user} may read {sorted(may_read[user])}, and the copies {sorted(direct)}")
