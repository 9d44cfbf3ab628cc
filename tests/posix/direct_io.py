"""With O_DIRECT the origin decides which alignment is allowed, and whether it is possible at all.

The copies are on another file system, where possible. The same calls give the same with and without
the shim, nothing is a hit, and with fill = "wait" no copy replaces the descriptor.
"""
import sys

from node import Node, expect

CALLS = """
import errno, mmap, os, sys
page = mmap.mmap(-1, 65536)
for path in sys.argv[1:]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        print(path, errno.errorcode[error.errno])
        continue
    for begin, size, at in ((0, 4096, 0), (0, 4096, 512), (0, 4096, 1), (1, 4096, 0), (0, 100, 0),
                            (512, 512, 0), (0, 65536, 0)):
        try:
            print(path, begin, size, at, os.preadv(fd, [memoryview(page)[begin:begin + size]], at),
                  hash(page[:]))
        except OSError as error:
            print(path, begin, size, at, errno.errorcode[error.errno])
"""

for options in ("", 'fill = "wait"\n'):
    with Node(options=options, other_device=True) as node:
        node.start_daemon()
        cached, uncached = range(10, 14), range(14, 18)
        node.warm(cached)
        frames = [node.frame(seq) for seq in (*cached, *uncached)]
        command = [sys.executable, "-c", CALLS, *frames]
        same = {"PYTHONHASHSEED": "0"}
        plain = node.run(command, same)
        expect(plain.returncode == 0 and plain.stdout.count(b"\n") >= len(frames), f"{plain}")
        shown = node.run(command, {**node.shim(ZAZEN_REPORT=str(node.report)), **same})
        expect(shown.stdout == plain.stdout and shown.stderr == b"", f"{shown}\n{plain}")
        report = node.read_report()
        expect(report["hits"] == 0, f"{report}")
        expect(not any(node.copy_of(node.frame(seq)).exists() for seq in uncached), "a fill")
        node.run(["cat", *frames], node.shim(ZAZEN_REPORT=str(node.report)))
        expect(node.read_report()["hits"] >= len(cached), "they are still there")
