"""A user who can read a copy, even of their own frame, cannot plant, alter, remove, chmod, link or
relabel one. Nor can the user change the daemon's published files. Damage to the user's own files
harms nobody."""
import os

from people import ALICE, ALL, BOB, CAROL, SystemNode
from processes import expect

with SystemNode() as node:
    data = node.dataset(4, sizes=(20_000,))
    files = [data.file(name) for name in sorted(data.frames)]
    node.start()
    node.read(ALICE, files)
    node.wait_for_copies(data, data.frames)
    copy, cached = node.copy(files[0]), node.copy(data.path)
    runtime = node.node.runtime

    def state():
        st = os.lstat(copy)
        with open(copy, "rb") as file:
            return (st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_ino, st.st_mtime_ns,
                    st.st_nlink, file.read(),
                    {name: os.getxattr(copy, name) for name in os.listxattr(copy)})

    def write(path, flags=0):
        os.write(os.open(path, os.O_WRONLY | flags), b"evil")

    with open("/proc/sys/fs/protected_hardlinks") as file:
        links_are_protected = file.read().strip() == "1"
    before = state()
    for user in ALL:
        scratch = node.nodes.path(f"of-{user}")
        os.mkdir(scratch)
        os.chown(scratch, user.uid, user.gid)
        identity = user.do(lambda: os.getxattr(copy, "user.zazen").hex())
        expect("value" in identity, f"{user} cannot see whose copy it is: {identity}")
        refused = {
            "write": lambda: write(copy),
            "truncate": lambda: os.truncate(copy, 0),
            "open it for truncation": lambda: os.open(copy, os.O_RDONLY | os.O_TRUNC),
            "chmod": lambda: os.chmod(copy, 0o666),
            "chown": lambda: os.chown(copy, user.uid, user.gid),
            "set its times": lambda: os.utime(copy, (1, 1)),
            "forge the attribute": lambda: os.setxattr(copy, "user.zazen", b"\0" * 64),
            "remove the attribute": lambda: os.removexattr(copy, "user.zazen"),
            "add an attribute": lambda: os.setxattr(copy, "user.more", b"x"),
            "give itself rights": lambda: os.setxattr(copy, "system.posix_acl_access", b"\2\0\0\0"),
            "unlink": lambda: os.unlink(copy),
            "rename": lambda: os.rename(copy, cached + "/f9"),
            "put another in its place": lambda: os.rename(scratch, copy),
            "plant a copy": lambda: write(cached + "/f9", os.O_CREAT),
            "plant a link": lambda: os.symlink(files[1], cached + "/f9"),
            "plant a directory": lambda: os.mkdir(node.node.cache + "/evil"),
            "plant in the state": lambda: write(cached + "/.zazen/listing", os.O_CREAT),
            "write to the log": lambda: write(cached + "/.zazen/alien.seq"),
            "read the daemon's state": lambda: os.listdir(node.node.cache + "/.zazen"),
            "plant in the runtime directory": lambda: write(runtime + "/evil", os.O_CREAT),
            "remove the socket": lambda: os.unlink(runtime + "/socket"),
            "replace the jobs directory": lambda: os.rename(runtime + "/jobs", runtime + "/j"),
            "write to the daemon's counters": lambda: write(runtime + "/counters"),
            "cut the table": lambda: os.truncate(runtime + "/table", 0),
            "cut the index": lambda: os.truncate(runtime + "/index", 0),
            "read the daemon's lock": lambda: os.open(runtime + "/lock", os.O_RDONLY),
        }
        if links_are_protected:
            refused["link"] = lambda: os.link(copy, scratch + "/mine")
        for what, action in refused.items():
            user.refused(action, what)
        expect(state() == before, f"{user} has altered the copy")

    # A user can spoil their own counters: no other user notices.
    node.ctl(BOB, "status").succeeded()
    own = f"{runtime}/users/{BOB.uid}"
    CAROL.refused(lambda: os.open(own, os.O_RDONLY), "read another's counters")
    expect("value" in BOB.do(lambda: os.truncate(own, 3)), "bob cannot spoil his own counters")
    node.check(BOB, files, "with spoilt counters")
    node.check(CAROL, files, "with another's spoilt counters")
    expect(node.node.status()["healthy"], "the daemon is not well")
