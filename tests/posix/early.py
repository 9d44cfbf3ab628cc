"""Hooks that run before the shim's own constructor work, in either order of the preloads."""
from node import PROGRAMS, SHIM, Node, expect

with Node() as node:
    node.start_daemon()
    node.warm()
    early = PROGRAMS / "libearly.so"
    for order in (f"{SHIM}:{early}", f"{early}:{SHIM}", f"{early}"):
        for report in ("", str(node.report)):
            environment = node.shim(LD_PRELOAD=order, EARLY_DIRECTORY=str(node.dataset),
                                    ZAZEN_REPORT=report)
            done = node.run(["cat", node.frame(3)], environment)
            expect(done.returncode == 0, f"{order}: {done}")
            expect(done.stdout == b"early 9 of 9\n" + node.frame(3).read_bytes(),
                   f"{order}: {done.stdout[:40]}")
