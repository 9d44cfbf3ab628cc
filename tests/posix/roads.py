"""Calls with unusual names for a file open the copy, and a miss by them starts a fill. A copy that
is removed in the middle of a posix_spawn is not missed."""
import os
import subprocess

from node import PROGRAMS, SHIM, Node, expect

DESCRIPTORS = ["open", "openat", "__open", "__open64", "SYS_open", "SYS_openat", "SYS_openat2"]
STREAMS = ["_IO_fopen", "fopen-ccs", "freopen", "freopen64"]
SPAWNS = ["spawn", "spawnp", "spawn-chdir", "spawnp-fchdir"]
UNDERLAY = PROGRAMS / "libunderlay.so"


def take(node, road, seq, **more):
    """The result of the road, and how many hits and misses the report has."""
    node.report.unlink(missing_ok=True)
    frame = node.frame(seq)
    done = node.run([PROGRAMS / "roads", road, node.dataset, frame.name],
                    node.shim(ZAZEN_REPORT=str(node.report), **more))
    expect(done.returncode == 0 and done.stdout == frame.read_bytes(), f"{road}: {done}")
    report = node.read_report()
    return report["hits"], report["misses"]


def check_hits(node):
    for road in DESCRIPTORS + STREAMS + SPAWNS:
        expect(take(node, road, 7) == (1, 0), f"{road} does not lead to the copy")


def check_misses(node):
    for seq, road in enumerate(DESCRIPTORS + STREAMS + SPAWNS, start=1):
        copy = node.copy_of(node.frame(seq))
        expect(take(node, road, seq) == (0, 1), f"{road} is not counted as a miss")
        node.wait_until(copy.exists, f"{road} fills")


def check_evicted_before_spawn(node):
    copy = node.copy_of(node.frame(9))
    program = subprocess.Popen(
        [PROGRAMS / "roads", "spawn-waiting", node.dataset, node.frame(9).name],
        env={"PATH": "/usr/bin:/bin", **node.shim()}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(program.stderr.readline() == b"made\n", "the list is made")
    copy.unlink()
    out, _ = program.communicate(b"\n")
    expect(program.returncode == 0 and out == node.frame(9).read_bytes(), "evicted before")


def check_evicted_during_spawn(node):
    """The copy is there when the shim looks and gone when the child opens it."""
    copy = node.copy_of(node.frame(10))
    hits, _ = take(node, "spawn", 10, LD_PRELOAD=f"{SHIM}:{UNDERLAY}", UNDERLAY_REMOVES=str(copy))
    expect(hits == 1, "the shim saw the copy")
    expect(not copy.exists(), "the copy was removed")


def check_filled_during_spawn(node):
    """The child opens the frame for writing; a fill that ended just before is dropped, too."""
    copy = node.copy_of(node.frame(13))
    os.link(copy, f"{copy}.saved")
    take(node, "spawn-write", 13, LD_PRELOAD=f"{SHIM}:{UNDERLAY}", UNDERLAY_RESTORES=str(copy))
    expect(not os.path.exists(f"{copy}.saved"), "the copy came back")
    expect(not copy.exists(), "the copy is dropped again")


def check_open_on_top_of_syscall(node):
    for preloads in (f"{SHIM}:{UNDERLAY}", f"{UNDERLAY}:{SHIM}"):
        for road in ("open", "openat", "SYS_open", "SYS_openat"):
            expect(take(node, road, 11, LD_PRELOAD=preloads) == (1, 0), f"{road}, {preloads}")
        copy = node.copy_of(node.frame(12))
        copy.unlink()

        def is_filled():
            take(node, "open", 12, LD_PRELOAD=preloads)  # a daemon that is busy may drop one fill
            return copy.exists()
        node.wait_until(is_filled, "filled again")


with Node() as node:
    node.start_daemon()
    check_misses(node)
    node.warm()
    check_hits(node)
    check_evicted_before_spawn(node)
    check_evicted_during_spawn(node)
    check_open_on_top_of_syscall(node)
    check_filled_during_spawn(node)
