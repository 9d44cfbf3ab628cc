"""No stale byte is served after any kind of change of a frame that was opened for writing, by any
process."""
import os

from nodes import PYTHON, Nodes
from processes import expect, wait_until

# Each changes the frame in its own way and prints what a reader sees at the end. With "beside" it
# reads at once, while the frame is open: the daemon is then asked for a copy, and finds the old one stale.
# `other` is a plain file of four bytes.
COMMON = """
import ctypes, mmap, os, signal, socket, subprocess, sys
frame, other, when = sys.argv[1:]
def seen():
    with open(frame, "rb") as file: return file.read(4).decode()
def in_child(act, ends=os._exit):
    pid = os.fork()
    if pid == 0:
        act()
        ends(0)
    os.waitpid(pid, 0)
def die(status): os.kill(os.getpid(), signal.SIGKILL)
fd = os.open(frame, os.O_RDWR)
"""
WAYS = {
    "write": "os.write(fd, b'NEW!')",
    "pwrite": "os.pwrite(fd, b'NEW!', 0)",
    "writev": "os.writev(fd, [b'NE', b'W!'])",
    "append": "fd2 = os.open(frame, os.O_WRONLY | os.O_APPEND); os.write(fd2, b'NEW!'); want = 'old.', 8",
    "ftruncate": "os.ftruncate(fd, 2); want = 'ol', 2",
    "ftruncate longer": "os.ftruncate(fd, 9); want = 'old.', 9",
    "truncate": "os.truncate(frame, 2); want = 'ol', 2",
    "fallocate": "os.posix_fallocate(fd, 0, 100); want = 'old.', 100",
    "punch hole": "ctypes.CDLL(None).fallocate(fd, 3, ctypes.c_long(0), ctypes.c_long(4)); want = '\\0' * 4, 4",
    "copy_file_range": "os.copy_file_range(os.open(other, os.O_RDONLY), fd, 4)",
    "sendfile": "os.sendfile(fd, os.open(other, os.O_RDONLY), 0, 4)",
    "splice": "r, w = os.pipe(); os.write(w, b'NEW!'); os.splice(r, fd, 4)",
    "dup": "twin = os.dup(fd); os.close(fd); os.pwrite(twin, b'NEW!', 0)",
    "mmap": "m = mmap.mmap(fd, 0); m[0:4] = b'NEW!'",
    "mmap after close": "m = mmap.mmap(fd, 0); os.close(fd); m[0]; m[0:4] = b'NEW!'",
    "child inherits": "in_child(lambda: os.pwrite(fd, b'NEW!', 0))",
    "child opens": "in_child(lambda: os.pwrite(os.open(frame, os.O_RDWR), b'NEW!', 0))",
    "killed child": "in_child(lambda: os.pwrite(fd, b'NEW!', 0), die)",
    "exec": "os.set_inheritable(fd, True); subprocess.run(['sh', '-c', f'printf NEW! >&{fd}'], close_fds=False)",
    "shell": "subprocess.run(['sh', '-c', 'printf NEW! 1<>$0', frame])",
    "spawn": "os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'printf NEW!'], os.environ, file_actions="
             "[(os.POSIX_SPAWN_OPEN, 1, frame, os.O_WRONLY, 0)]), 0)",
    "dd": "subprocess.run(['dd', 'if=' + other, 'of=' + frame, 'conv=notrunc', 'status=none'])",
    "passed": '''
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [fd]); os.close(fd)
def take():
    got = socket.recv_fds(b, 1, 1)[1][0]
    os.pwrite(got, b"NEW!", 0)
in_child(take)''',
    "without the shim": "subprocess.run(['dd', 'if=' + other, 'of=' + frame, 'conv=notrunc', 'status=none'], env={})",
    "times put back": "st = os.stat(frame); os.pwrite(fd, b'NEW!', 0); "
                      "os.utime(frame, ns=(st.st_atime_ns, st.st_mtime_ns))",
    "truncated and written": "os.close(os.open(frame, os.O_WRONLY | os.O_TRUNC)); os.pwrite(fd, b'NEW!', 0)",
}
AFTER = """
try: want
except NameError: want = "NEW!", 4
assert when != "beside" or seen() == want[0], f"beside the writer: {seen()}"
assert os.stat(frame).st_size == want[1], os.stat(frame).st_size
print(want[0], want[1])
"""

with Nodes(1) as nodes:
    # Nobody checks copies here until the first was dropped: a change is seen because of the open.
    data = nodes.dataset(frames=2 * len(WAYS) + 1, ordinary=False, sizes=(4,), keys='validate = "never"')
    for name in data.frames:
        with open(data.file(name), "w") as file:
            file.write("old.")
        os.utime(data.file(name), (1e9, 1e9))  # whole for a long time
    with open(nodes.path("other"), "w") as file:
        file.write("NEW!")
    nodes.start()
    node = nodes[0]
    nodes.push(data)
    cases = [(how, when) for when in ("afterwards", "beside") for how in WAYS]
    for number, (how, when) in enumerate(cases):
        frame = data.file(f"f{number}")
        expect(f"f{number}" in node.copies(data), f"{how}: there is no copy")
        done = nodes.serial(node, [PYTHON, "-c", COMMON + WAYS[how] + AFTER, frame, nodes.path("other"), when])
        expect(done.status == 0, f"{how}: {done}")
        if when == "afterwards":
            wait_until(lambda: not node.has_suspended(data), f"{how}: the daemon to have compared it")
        begin, size = done.stdout.rsplit(maxsplit=1) if done.stdout[0] != "\0" else ("\0" * 4, "4")
        show = [PYTHON, "-c", "import sys; d = open(sys.argv[1], 'rb').read(); "
                "print(d[:4].decode(), len(d))", frame]
        for _ in range(2):  # from the origin, and perhaps from a new copy
            shown = nodes.serial(node, show).succeeded().stdout
            expect(shown == f"{begin} {size}\n", f"{how}: {shown!r} instead of {begin!r}, {size}")

        def dropped():
            return node.held(data, "native") == len(data.frames) - number - 1
        wait_until(dropped, f"{how}: the old copy to go")
    expect(f"f{len(cases)}" in node.copies(data), "the frame that nobody opened")
