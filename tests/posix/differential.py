"""A program gives the same output and status with and without the shim, for each state of the
cache.

Runs tests/posix/PROGRAM (or PROGRAM.asan, PROGRAM.tsan: built with a sanitizer) without the shim,
and then with it. The states of the cache are: no daemon, nothing cached, everything cached, the
daemon killed, the daemon stopped. Two more runs have the shim disabled, and the shim merely
configured (a program that loads it by itself finds it so). Standard output, standard error and the
exit status are compared.
"""
import hashlib
import os
import shutil
import signal
import stat
import sys

from node import PROGRAMS, Node, expect


def no_daemon(node):
    pass


def uncached(node):
    node.start_daemon()


def cached(node):
    node.start_daemon()
    node.warm()


def killed(node):
    cached(node)
    node.end_daemon(signal.SIGKILL)


def stopped(node):
    cached(node)
    node.end_daemon(signal.SIGTERM)


STATES = [no_daemon, uncached, cached, killed, stopped]
# They change the dataset, which is made anew for each run. No check may hide the effect of a change
# through the shim.
CHANGES_FRAMES = {"alternate_stacks", "attributes", "changes", "errnos", "first_uses", "ioctls", "link_counts", "links",
                  "modes", "names", "small_stacks", "spawn_changes", "symlinks", "syscall_changes", "times"}
# Their copies lie on another file system than the origin.
OTHER_DEVICE = {"filesystems", "ioctls", "link_counts", "modes", "stats"}
OPENS_FRAMES = {"alternate_stacks", "attributes", "cancellation", "children", "descriptors", "errnos", "filesystems",
                "ioctls", "lifetimes", "link_counts", "links", "modes", "opens", "signals", "small_stacks",
                "spawn_actions", "stats", "streams", "symlinks", "syscalls", "threads", "times"}


def difference(a, b):
    for left, right in zip(a.splitlines(), b.splitlines()):
        if left != right:
            return f"\n  without: {left}\n  with:    {right}"
    return f"\n  lengths {len(a)} and {len(b)}"


def run(node, program, environment):
    return node.run([PROGRAMS / program, node.dataset],
                    {"ASAN_OPTIONS": "detect_leaks=0", **environment})


def compare(node, program, state, plain, environment):
    with_shim = run(node, program, environment)
    for what in ("stdout", "stderr"):
        a = getattr(plain, what).decode(errors="replace")
        b = getattr(with_shim, what).decode(errors="replace")
        expect(a == b, f"{program}, {state}: {what} differs{difference(a, b)}")
    expect(plain.returncode == with_shim.returncode,
           f"{program}, {state}: status {plain.returncode} and {with_shim.returncode}")


def content(path):
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    return hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else None


def state_of(dataset):
    """The state of the origin: a program that changes it must leave the same in every run."""
    return {path.name: (oct(path.lstat().st_mode), path.lstat().st_uid, path.lstat().st_gid,
                        path.lstat().st_nlink, os.listxattr(path, follow_symlinks=False),
                        content(path))
            for path in sorted(dataset.iterdir())}


def check_origin(node, program, state, expected):
    found = state_of(node.dataset)
    for name in sorted(expected.keys() | found.keys()):
        expect(expected.get(name) == found.get(name),
               f"{program}, {state}: {name} at the origin is {found.get(name)}, "
               f"without the shim {expected.get(name)}")


def check_copies(node, program, state):
    """A copy that is still there under its name is a copy of what the origin has."""
    for path in node.dataset.iterdir():
        copy = node.copy_of(path)
        if path.is_file() and copy.is_file():
            expect(copy.read_bytes() == path.read_bytes(),
                   f"{program}, {state}: the copy of {path.name} differs")
        expect(path.is_file() or not copy.exists(), f"{program}, {state}: {copy} is left")


def main(program):
    family, _, sanitizer = program.partition(".")
    states = [uncached, cached] if sanitizer else STATES
    changes = family in CHANGES_FRAMES
    options = 'validate = "never"\n' if changes else ""
    with Node(options=options, other_device=family in OTHER_DEVICE) as node:
        plain = run(node, program, {})
        expect(plain.returncode == 0, f"{program} itself fails: {plain}")
        origin = state_of(node.dataset)
        compare(node, program, "disabled", fresh(node, program) if changes else plain,
                node.shim(ZAZEN_DISABLE="1"))
        for state in states:
            if changes:
                node.make_dataset()
            shutil.rmtree(node.cache, ignore_errors=True)
            node.report.unlink(missing_ok=True)
            state(node)
            compare(node, program, state.__name__, plain,
                    node.shim(ZAZEN_REPORT=str(node.report)))
            if changes:
                check_origin(node, program, state.__name__, origin)
                check_copies(node, program, state.__name__)
            if family in OPENS_FRAMES and state in (uncached, cached):
                hits, misses = (node.read_report()[key] for key in ("hits", "misses"))
                expect((hits if state is cached else misses) > 0,
                       f"{program}, {state.__name__}: {hits} hits, {misses} misses")
            if state is cached and not changes:
                compare(node, program, "not preloaded", plain, {"ZAZEN_CONFIG": str(node.config)})
            node.end_daemon()


def fresh(node, program):
    """For a program that changes its dataset: run it again on a new one."""
    node.make_dataset()
    plain = run(node, program, {})
    node.make_dataset()
    return plain


if __name__ == "__main__":
    os.umask(0o022)
    main(sys.argv[1])
