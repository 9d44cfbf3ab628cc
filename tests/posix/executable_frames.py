"""An executable frame runs by its descriptor, cached or not. It is a binary and a script, run by
fexecve, execveat and a link of procfs."""
import os
import shutil

from node import Node, expect

BINARY, SCRIPT, NEITHER = 12, 13, 14

RUN = """
import ctypes, os, sys
way, stays, frame = sys.argv[1], sys.argv[2] == "stays", sys.argv[3]
fd = os.open(frame, os.O_RDONLY)
os.set_inheritable(fd, stays)
words = [b"printf", b"ran %s", b"it"]
libc = ctypes.CDLL(None, use_errno=True)
vector = lambda items: (ctypes.c_char_p * (len(items) + 1))(*items, None)
environment = vector([k + b"=" + v for k, v in os.environb.items()])
if way == "fexecve":
    libc.fexecve(fd, vector(words), environment)
elif way == "execveat":
    libc.execveat(fd, b"", vector(words), environment, 0x1000)
elif way == "SYS_execveat":
    libc.syscall(322, fd, b"", vector(words), environment, 0x1000)
else:
    libc.execve(b"/proc/self/fd/%d" % fd, vector(words), environment)
print(os.strerror(ctypes.get_errno()), sorted(os.listdir("/proc/self/fd")))
"""


def make_programs(node):
    shutil.copy("/usr/bin/printf", node.frame(BINARY))
    node.frame(SCRIPT).write_text('#!/bin/sh\necho "ran $@"\n')
    for seq in (BINARY, SCRIPT):
        node.frame(seq).chmod(0o755)
        os.utime(node.frame(seq), (1e9, 1e9))


with Node() as node:
    make_programs(node)
    node.start_daemon()
    node.warm([BINARY, SCRIPT, NEITHER])
    for way in ("fexecve", "execveat", "SYS_execveat", "execve"):
        for seq in (BINARY, SCRIPT, NEITHER):
            for stays in ("stays", "closes"):
                if way == "execve" and seq == SCRIPT and stays == "closes":
                    continue  # the interpreter finds it all the same: it is told the frame's name
                command = ["/usr/bin/python3", "-c", RUN, way, stays, node.frame(seq)]
                plain, shimmed = node.run(command), node.run(command, node.shim())
                expect((b"ran" in plain.stdout) ==
                       (seq == BINARY or (seq == SCRIPT and stays == "stays")), f"{plain}")
                expect((plain.returncode, plain.stdout) == (shimmed.returncode, shimmed.stdout),
                       f"{way}, {seq}, {stays}: {plain} and {shimmed}")
                expect(node.copy_of(node.frame(seq)).exists(), "the copy is still there")
