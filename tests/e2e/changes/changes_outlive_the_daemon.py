"""A frame that was changed through the shim is never shown stale: not in that process, not in
another, and not after a restart of the daemon. The daemon was stopped cleanly or killed, before the
change or after it. With validate = "never" no check finds a change that was missed."""
from nodes import PYTHON, Nodes
from processes import expect, run

STATE = """
import hashlib, os, sys
def state(directory, names):
    for name in names:
        path = os.path.join(directory, name)
        try: st = os.stat(path)
        except OSError as error:
            yield f"{name}: {error.errno}"
            continue
        with open(path, "rb") as file: content = hashlib.sha256(file.read()).hexdigest()
        yield (f"{name}: {st.st_ino} {st.st_mode:o} {st.st_uid} {st.st_gid} {st.st_size} "
               f"{st.st_mtime_ns} {st.st_ctime_ns} {os.listxattr(path)} {content}")
"""
SHOW = STATE + "print('\\n'.join(state(sys.argv[1], sys.argv[2:])))"
CHANGE = STATE + """
directory = sys.argv[1]
names = iter(sys.argv[2:])
def frame(): return os.path.join(directory, next(names))
def opened(flags=os.O_RDONLY):  # as a reader has it that was there before the change
    return os.open(frame(), flags)
def write(flags):
    fd = opened(flags)
    os.write(fd, b"new")
    os.close(fd)
write(os.O_WRONLY)
write(os.O_RDWR | os.O_TRUNC)
write(os.O_WRONLY | os.O_APPEND)
with open(frame(), "w") as file: file.write("new")
os.truncate(frame(), 5)
os.unlink(frame())
os.rename(frame(), frame())
os.link(frame(), os.path.join(directory, "f1000"))
os.chmod(frame(), 0o600)
os.chown(frame(), os.getuid(), os.getgid())
os.utime(frame(), ns=(5, 7))
os.setxattr(frame(), "user.note", b"new")
held = [opened() for _ in range(4)]
os.fchmod(held[0], 0o640)
os.fchown(held[1], os.getuid(), os.getgid())
os.utime(held[2], ns=(11, 13))
os.setxattr(held[3], "user.note", b"new")
shown = [(s.st_mode, s.st_mtime_ns, s.st_ctime_ns) for s in map(os.fstat, held)]
named = [os.stat(os.readlink(f"/proc/self/fd/{fd}")) for fd in held]
assert shown == [(s.st_mode, s.st_mtime_ns, s.st_ctime_ns) for s in named], (shown, named)
# The time of the last access goes along, too.
assert os.fstat(held[2]).st_atime_ns == 11, os.fstat(held[2])
print('\\n'.join(state(directory, sys.argv[2:])))
"""
FRAMES = 20


def check(how, before, restart):
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=FRAMES, sizes=(5000,), keys='validate = "never"')
        names = [f"f{seq}" for seq in range(FRAMES)]
        nodes.start()
        nodes.push(data)
        node = nodes[0]
        before(node)
        shown = nodes.serial(node, [PYTHON, "-c", CHANGE, data.path, *names])
        plain = run([PYTHON, "-c", SHOW, data.path, *names], nodes.env).succeeded().stdout
        expect(shown.succeeded().stdout == plain, f"{how}, this process: {shown.stdout}{plain}")

        def look(when):
            other = nodes.serial(node, [PYTHON, "-c", SHOW, data.path, *names]).succeeded().stdout
            expect(other == plain, f"{how}, {when}:\n{other}\n{plain}")

        look("another process")
        restart(node)
        node.start()
        look("after a restart")
        hits = node.status()["hits"]
        look("once more")
        expect(node.status()["hits"] > hits, f"{how}: nothing came from the cache: no test")


def nothing(node):
    pass


check("stopped", nothing, lambda node: node.stop())
check("killed", nothing, lambda node: node.kill())
check("killed before", lambda node: node.kill(), nothing)
