"""Other preloads, before and after the shim: the programs print what they print without it, and
still read from the cache.

jemalloc and tcmalloc (who open files and allocate while they start), libfiu (who hooks open, read
and stat themselves), fakeroot (whose stat and chown must remain in force), stdbuf.
"""
import glob
import shutil
import sys

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


FAKEROOT = """
cd "$1" && chown 1234:4321 f3 notes.txt && chmod 4711 f5 && stat -c '%n %u %g %a' f3 f4 f5 notes.txt
ls -ln f3 f5 && cat f3 f5 | md5sum && test -z "$(find . -name f3 -uid 0)" && tar c f3 | tar tvn
/usr/bin/python3 -c 'import os; f = open("f3"); print(os.fstat(f.fileno()).st_uid, os.stat("f3").st_gid)'
"""


def check_fakeroot(node):
    """fakeroot keeps its owners by (device, inode): ours must be the origin's."""
    if shutil.which("fakeroot") is None:
        return skip("fakeroot")
    plain = None
    for order in ("", "{shim}:$LD_PRELOAD", "$LD_PRELOAD:{shim}"):
        node.make_dataset()
        if order:
            node.end_daemon()
            shutil.rmtree(node.cache)
            node.start_daemon()
            node.warm()
        setting = f'export LD_PRELOAD="{order.format(shim=SHIM)}"' if order else ":"
        done = node.run(["fakeroot", "sh", "-c", f"{setting}\n{FAKEROOT}", "sh", node.dataset],
                        {"ZAZEN_CONFIG": str(node.config)})
        if plain is None:
            plain = done
            expect(b"f3 1234 4321" in plain.stdout, f"fakeroot itself: {plain}")
        else:
            same(f"fakeroot, {order}", plain, done)


def skip(what):
    print(f"{what} is not installed")


with Node() as node:
    node.start_daemon()
    node.warm()
    for other, (path, settings) in OTHERS.items():
        if all(glob.glob(part) for part in path.split(":")):
            check(node, other, path, settings)
        else:
            skip(other)
    check_fakeroot(node)
sys.exit(0)
