"""A real program does the same with and without the shim: `compare.py NAME` runs its cases.

Each case runs without the shim, and then with it while nothing, half, and all of the dataset is
cached. Standard output, standard error, exit status and the written tree are compared. The daemon's
counts of hits and misses show that the state is as named. The origin must be unchanged, and our
attribute must not be in any written file.
"""
import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile

import cases
from frames import KINDS
from node import BUILD, FRAMES, Node, expect
from tree import difference, tree

HERE = pathlib.Path(__file__).resolve().parent

OUR_ATTRIBUTE = b"user.zazen"
STATES = {"nothing": [], "half": range(0, FRAMES, 2), "all": range(FRAMES)}
Seen = collections.namedtuple("Seen", "stdout stderr status tree")


def keeps_attributes(parent):
    try:
        with tempfile.TemporaryDirectory(prefix="zazen origin ", dir=parent) as directory:
            os.setxattr(directory, "user.try", b"")
        return True
    except OSError:
        return False


def place_of_origin():
    """On another device than the cache, where there is one that is fit for it."""
    parent = "/dev/shm" if keeps_attributes("/dev/shm") else None
    return tempfile.TemporaryDirectory(prefix="zazen origin ", dir=parent)


class Workplace(Node):
    """A node whose dataset has frames of one kind, on another device than the cache if possible."""

    def __init__(self, kind, options=""):
        self.kind = KINDS[kind]
        self.origin = place_of_origin()  # removed when the process ends
        try:
            super().__init__(self.kind.template, options, pathlib.Path(self.origin.name))
        except BaseException:  # for instance a library that is not installed
            shutil.rmtree(self.root)
            raise
        self.out = self.root / "out"

    def frames(self):
        return [self.frame(seq) for seq in range(FRAMES)]

    def make_dataset(self):
        """As of old, but of the kind; with modes, a hard link and attributes worth keeping."""
        super().make_dataset()
        for seq, frame in enumerate(self.frames()):
            self.kind.write(frame, seq)
            frame.chmod((0o644, 0o600, 0o444, 0o755, 0o664)[seq % 5])
        self.frame(9).unlink()
        self.frame(9).hardlink_to(self.frame(8))
        for seq in (3, 12):
            os.setxattr(self.frame(seq), "user.experiment", b"number %d" % seq)
        self.kind.beside(self.dataset)
        for number, path in enumerate([*sorted(self.dataset.rglob("*")), self.dataset]):
            os.utime(path, (1e9, 1e9 + number + 0.25), follow_symlinks=False)

    def enter(self, state, case):
        """A new daemon with an empty cache, which then holds what the state says."""
        self.end_daemon()
        self.restore(case)
        shutil.rmtree(self.cache, ignore_errors=True)
        self.start_daemon()
        if STATES[state]:
            self.warm(STATES[state])

    def restore(self, case):
        if case.changes:
            self.make_dataset()

    def counts(self):
        status = json.loads(self.run(
            [BUILD / "tools" / "zazenctl", "--config", self.config, "status", "--json"]).stdout)
        return status["hits"], status["misses"]

    def words(self, case):
        for word in case.words:
            if word == "{frames}":
                yield from self.frames()
                continue
            for field, value in (("data", self.dataset), ("out", self.out),
                                 ("readers", HERE / "readers"),
                                 ("built", BUILD / "tests" / "programs")):
                word = word.replace(f"{{{field}}}", str(value))
            yield word

    def see(self, case, environment):
        """One run, with Debian's programs only, in the dataset's directory."""
        written = self.dataset if case.changes else self.out
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        done = self.run(["env", "-C", self.dataset, *self.words(case)],
                        {"PATH": "/usr/bin:/bin", "HOME": str(self.root), **environment})
        return Seen(done.stdout, done.stderr, done.returncode, tree(written, case.keeps_times))


def first_difference(plain, other):
    at = len(os.path.commonprefix([plain, other]))
    around = slice(max(at - 100, 0), at + 60)
    return f" from byte {at}\n  without: {plain[around]!r}\n  with:    {other[around]!r}"


def differences(plain, other):
    """In words, or nothing if the program did the same twice."""
    words = []
    if plain.status != other.status:
        words.append(f"status {plain.status} and {other.status}")
    for stream in ("stdout", "stderr"):
        a, b = getattr(plain, stream), getattr(other, stream)
        if a != b:
            words.append(f"{stream} differs{first_difference(a, b)}")
    if plain.tree != other.tree:
        words.append(f"the tree that was written differs{difference(plain.tree, other.tree)}")
    return "\n ".join(words)


def compare(place, case, plain, other, where):
    found = differences(plain, other)
    if not found:
        return
    # Is it the shim, or would the program never do the same twice?
    place.restore(case)
    again = differences(plain, place.see(case, {}))
    expect(not again, f"{where}: even without the shim a second time: {again}\n with it: {found}")
    expect(False, f"{where}: {found}")


def check_counts(case, state, hits, misses, where):
    if not case.opens:
        return
    figures = f"{where}: {hits} hits, {misses} misses"
    if state == "nothing":
        expect(misses > 0, figures)
    elif state == "half":
        expect(hits + misses > 0, figures)
    else:
        expect(hits > 0 and misses == case.links, figures)


def check_case(place, case):
    place.restore(case)
    plain = place.see(case, {})
    expect(plain.status == case.status, f"{case}: without the shim: {plain}")
    expect(plain.stdout or plain.stderr or plain.tree, f"{case}: shows nothing")
    for state in STATES:
        where = f"{case}, {state} cached"
        place.enter(state, case)
        hits, misses = place.counts()
        other = place.see(case, place.shim())
        hits_after, misses_after = place.counts()
        compare(place, case, plain, other, where)
        check_counts(case, state, hits_after - hits, misses_after - misses, where)
        written = [path for path in place.out.rglob("*") if path.is_file()]
        expect(not any(OUR_ATTRIBUTE in path.read_bytes() for path in written)
               and OUR_ATTRIBUTE not in other.stdout, f"{where}: user.zazen was written")


def main(name):
    program = cases.PROGRAMS[name]
    failures = []
    # No check may hide the effect of a change through the shim.
    options = 'validate = "never"\n' if any(case.changes for case in program.cases) else ""
    with Workplace(program.kind, options) as place:
        names = [frame.name for frame in place.frames()]
        before = tree(place.dataset)
        for case in program.cases:
            try:
                check_case(place, case)
                place.restore(case)
                after = tree(place.dataset)
                expect(all(before[frame] == after.get(frame) for frame in names),
                       f"{case}: the origin changed{difference(before, after)}")
            except SystemExit as failure:
                failures.append(str(failure))
    expect(not failures, "\n".join(failures))


if __name__ == "__main__":
    os.umask(0o022)
    main(sys.argv[1])
