"""stat, lstat, fstat, statx and ls of a cached frame show the origin's identity (D9)."""
from nodes import PYTHON, Nodes
from processes import expect, run

PROGRAM = """
import os, sys
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    for st in (os.stat(path), os.lstat(path), os.fstat(fd), os.fstat(os.dup(fd))):
        print(path, st.st_dev, st.st_ino, oct(st.st_mode), st.st_uid, st.st_gid, st.st_size,
              st.st_mtime_ns, st.st_ctime_ns, st.st_nlink)
    os.close(fd)
"""

with Nodes(1) as nodes:
    data = nodes.dataset(frames=9)
    nodes.start()
    nodes.push(data)
    files = sorted(data.file(name) for name in data.names - {"restart"})
    form = "%n %d %i %a %u %g %s %Y %Z %F"
    for argv in ([PYTHON, "-c", PROGRAM, *files], ["stat", "--format", form, *files],
                 ["ls", "-lin", "--full-time", data.path], ["test", "-r", files[0]],
                 ["find", data.path, "-size", "+4k", "-ls"], ["wc", "-c", *files]):
        plain = run(argv, nodes.env).succeeded()
        shown = nodes.serial(nodes[0], argv)
        expect((shown.status, shown.stdout, shown.stderr)
               == (plain.status, plain.stdout, plain.stderr), f"{shown}\nnot {plain.stdout}")
    shown = nodes.serial(nodes[0], ["sh", "-c", 'cat < "$0" | wc -c', data.file("f5")])
    expect(int(shown.stdout) == data.sums["f5"][0], f"{shown}")
    expect(nodes[0].status()["hits"] > 0, "nothing was served from the cache: no test")
