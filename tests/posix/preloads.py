"""With other preloads, before and after the shim, programs print the same as without it, and still
read from the cache.

jemalloc and tcmalloc open files and allocate while they start. libfiu hooks open, read and stat
itself. stdbuf is another one. (fakeroot has a test of its own, fakeroot.py.)
"""
import os

from node import FRAMES, PROGRAMS, SHIM, Node, expect

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FIU = "/usr/lib/fiu/fiu_run_preload.so:/usr/lib/fiu/fiu_posix_preload.so"
OTHERS = {
    "jemalloc": (f"{LIBRARIES}/libjemalloc.so.2", {}),
    "tcmalloc": (f"{LIBRARIES}/libtcmalloc_minimal.so.4", {}),
    "libfiu": (FIU, {}),
    "libfiu that fails reads": (FIU, {"FIU_ENABLE": "enable name=posix/io/rw/*,failinfo=5"}),
    "stdbuf": ("/usr/libexec/coreutils/libstdbuf.so", {"_STDBUF_O": "L", "_STDBUF_I": "0"}),
}
READ_ALL = ("import os,sys\nfor n in sorted(os.listdir(sys.argv[1])):\n"
            "  p = os.path.join(sys.argv[1], n)\n"
            "  s = os.stat(p)\n"
            "  print(n, s.st_size, s.st_ino, hash(open(p,'rb').read()) if os.path.isfile(p) else 0)")


def programs(node, name):
    cat = ["cat", *(node.frame(seq) for seq in range(FRAMES))]
    if "fails" in name:
        return [cat]
    return [cat,
            ["ls", "-lai", node.dataset],
            ["/usr/bin/python3", "-c", READ_ALL, node.dataset],
            [PROGRAMS / "threads", node.dataset],
            [PROGRAMS / "streams", node.dataset],
            [PROGRAMS / "signals", node.dataset]]


def same(what, plain, done):
    for part in ("stdout", "stderr", "returncode"):
        a, b = getattr(plain, part), getattr(done, part)
        expect(a == b, f"{what}: {part}\n  without: {a[-300:] if part != 'returncode' else a}\n"
                       f"  with:    {b[-300:] if part != 'returncode' else b}")


def check(node, name, library, extra):
    for argv in programs(node, name):
        extra = {**extra, "PYTHONHASHSEED": "0"}
        plain = node.run(argv, {**extra, "LD_PRELOAD": library})
        for order in (f"{SHIM}:{library}", f"{library}:{SHIM}"):
            node.report.unlink(missing_ok=True)
            done = node.run(argv, node.shim(**extra, LD_PRELOAD=order,
                                            ZAZEN_REPORT=str(node.report)))
            what = f"{name}: {argv[0]}, {'after' if order.startswith(str(SHIM)) else 'before'} us"
            same(what, plain, done)
            if argv[0] != "ls":
                expect(node.read_report()["hits"] > 0, f"{what}: no hits")


with Node() as node:
    node.start_daemon()
    node.warm()
    for other, (path, settings) in OTHERS.items():
        for part in path.split(":"):
            expect(os.path.exists(part), f"{other}: {part} is missing: tools/install-packages --tests")
        check(node, other, path, settings)
