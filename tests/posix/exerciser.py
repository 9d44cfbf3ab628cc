"""A seeded random exerciser sees the same with and without the shim, call by call.

The program (exerciser/) does the same operations on a dataset made alike, from threads and
forked children: without the shim, and with it, while the cache is

  cold
  warm
  disturbed   by a daemon that is killed, stopped, started again and told to evict
  trusting    validate = "never": no check at the origin hides a change that did not invalidate
  corrupted   by hand, one bit of each copy: the exerciser must see it

The actors' journals must be equal, byte for byte, and so must the datasets that they leave.
Shared frames are opened for writing and never written: where nothing else takes their copies,
they are hits again at the end.

  exerciser.py [--operations N] [--seed N] [--state STATE] [--without OP,OP]
  exerciser.py --long     10^7 operations with seeds that nobody chose; --seed repeats one

The operations' names are in exerciser/main.cc. Most of the time goes into the daemon's flushes:
with TMPDIR on a tmpfs it is several times as fast.
"""
import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading

from node import BUILD, PROGRAMS, Node, expect

STATES = ["cold", "warm", "disturbed", "trusting"]
ACTORS = 7
SHARED, OWN = 24, 12
CTL = BUILD / "tools" / "zazenctl"
OLD = (1e9, 1e9)  # or each use of a copy would be checked at the origin
EVERY = 250  # operations of the first actor, between two disturbances
LIMIT_SECONDS = 600
FEW = 4  # of the shared frames may be dropped: a busy daemon may say that it has too much to do


class Ground(Node):
    """A shared dataset, one for each actor, and a daemon that knows them all."""

    def __init__(self, validate="sample"):
        super().__init__()
        paths = [self.root / name for name in self.names()]
        self.config.write_text(
            f'node = "n0"\ncache = "{self.cache}"\nruntime = "{self.root}/run"\n' + "".join(
                f'[[dataset]]\npath = "{path}"\nframes = "f{{seq}}"\nvalidate = "{validate}"\n'
                for path in paths))

    @staticmethod
    def names():
        return ["shared", *(f"own{i}" for i in range(ACTORS))]

    def frames(self):
        return [self.root / name / f"f{seq}" for name in self.names()
                for seq in range(SHARED if name == "shared" else OWN)]

    def make_dataset(self):
        content = random.Random(7)
        for name in self.names():
            directory = self.root / name
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            for seq in range(SHARED if name == "shared" else OWN):
                frame = directory / f"f{seq}"
                frame.write_bytes(content.randbytes(seq * 2900 % 66_000))
                if seq % 5 == 1:
                    os.setxattr(frame, "user.colour", b"blue")
                os.utime(frame, OLD)
            (directory / "notes.txt").write_text("a note\n")
            (directory / "f03").write_text("not canonical\n")
            if not (self.root / f"link-{name}").is_symlink():
                (self.root / f"link-{name}").symlink_to(name)
        (self.root / "shared" / "f77").symlink_to("f7")
        (self.root / "shared" / "f55").mkdir()

    def warm(self):
        self.run(["cat", *self.frames()], self.shim())
        self.wait_until(lambda: all(self.copy_of(f).exists() for f in self.frames()), "all cached")

    def control(self, *argv):
        done = subprocess.run([CTL, *map(str, argv), "--config", self.config], capture_output=True,
                              text=True, timeout=LIMIT_SECONDS)
        expect(done.returncode == 0, f"zazenctl: {done}")
        return done.stdout

    def hits(self):
        return json.loads(self.control("status", "--json"))["hits"]

    def shared_copies(self):
        """Name, inode and birth of each copy of a shared frame."""
        copies = [path for path in self.copy_of(self.root / "shared").glob("f*") if path.is_file()]
        told = subprocess.run(["stat", "-c", "%n %i %w", "--", *copies], capture_output=True, text=True)
        return [line.rsplit("/", 1)[1] for line in told.stdout.splitlines()]

    def expect_hits(self):
        """Each shared frame that has a copy is read from there."""
        frames = [self.root / "shared" / line.split()[0] for line in self.shared_copies()]
        before = self.hits()
        self.run(["cat", *frames], self.shim())
        expect(self.hits() - before == len(frames), f"{self.hits() - before} hits of {len(frames)}")

    def logged_shim(self):
        return dict(self.shim(), ZAZEN_LOG="warn", ZAZEN_LOG_FILE=str(self.root / "log"))

    def was_unanswered(self):
        """A program gives the daemon 250 ms, and for a second after that it drops the copies itself."""
        log = self.root / "log"
        return log.exists() and "the daemon does not answer" in log.read_text()

    def digest(self):
        """The files that the run left: names, modes and bytes."""
        lines = []
        for name in self.names():
            for path in sorted((self.root / name).iterdir()):
                body = path.read_bytes() if path.is_file() else b""
                lines.append(f"{name}/{path.name} {path.lstat().st_mode:o} "
                             f"{hashlib.sha256(body).hexdigest()}")
        return lines


def undisturbed(ground):
    return itertools.repeat(lambda: None)


def disturbances(ground):
    def kill():
        ground.end_daemon(signal.SIGKILL)

    def stop():
        ground.end_daemon(signal.SIGTERM)

    def evict_shared():
        ground.control("evict", ground.root / "shared")

    def evict_all():
        ground.control("evict", "--all")

    return itertools.cycle([evict_shared, kill, ground.start_daemon, evict_all, stop,
                            ground.start_daemon])


def exercise(ground, seed, operations, without, environment, disturb):
    """Runs the program; the journals, by actor."""
    journals = ground.root / "journals"
    shutil.rmtree(journals, ignore_errors=True)
    journals.mkdir()
    every = EVERY if operations // ACTORS > EVERY else 0
    child = subprocess.Popen(
        [PROGRAMS / "exerciser", ground.root, journals, str(seed), str(operations), str(every),
         *without],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", **environment}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    limit = threading.Timer(LIMIT_SECONDS, os.killpg, (child.pid, signal.SIGKILL))
    limit.start()
    try:
        for _, action in zip(child.stdout, disturb(ground)):
            action()
            child.stdin.write("\n")
            child.stdin.flush()
        status = child.wait()
    finally:
        limit.cancel()
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    expect(status == 0, f"seed {seed}: the exerciser ended with {status}")
    return [(journals / str(actor)).read_bytes() for actor in range(ACTORS)]


def first_difference(plain, shim):
    for actor, (a, b) in enumerate(zip(plain, shim)):
        if a == b:
            continue
        left, right = a.decode(errors="replace").split("\n"), b.decode(errors="replace").split("\n")
        number = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y),
                      min(len(left), len(right)) - 1)
        before = "".join(f"\n    {line}" for line in right[max(0, number - 3):number])
        return (f"actor {actor}, operation {number}\n  before:{before}\n  without: {left[number]}\n"
                f"  with:    {right[number]}")
    return None


def compare(state, seed, operations, without):
    """One run without the shim and one with it; the first difference, or None."""
    # A change through what was open before the copy was made, or through a second name of the
    # frame: only a check can tell.
    if state == "trusting":
        without = [*without, "write", "ftruncate", "link"]
    if state == "corrupted":
        without = [*without, "changes"]
    with Ground("never" if state in ("trusting", "corrupted") else "sample") as ground:
        plain = exercise(ground, seed, operations, without, {}, undisturbed)
        left = ground.digest()
        ground.make_dataset()
        ground.start_daemon()
        if state != "cold":
            ground.warm()
        if state == "corrupted":
            corrupt(ground)
        before = ground.shared_copies()
        shim = exercise(ground, seed, operations, without, ground.logged_shim(),
                        disturbances if state == "disturbed" else undisturbed)
        difference = first_difference(plain, shim)
        if difference is None and left != ground.digest():
            difference = f"what is left: {set(left) ^ set(ground.digest())}"
        if state in ("warm", "trusting"):
            expect(ground.hits() > operations // 100, f"{state}: only {ground.hits()} hits")
            ground.wait_until(lambda: ground.was_unanswered() or
                              len(ground.shared_copies()) >= len(before) - FEW,
                              "the copies of frames that were only opened")
            others = set(ground.shared_copies()) - set(before)
            expect(len(others) <= FEW or ground.was_unanswered(),
                   f"{state}: copies were made anew: {others}")
            ground.expect_hits()
        return difference


def corrupt(ground):
    """One bit of each copy, behind the daemon's back: the size stays, the mode is put back."""
    for seq in range(1, SHARED):
        copy = ground.copy_of(ground.root / "shared" / f"f{seq}")
        os.chmod(copy, 0o644)
        with open(copy, "r+b") as file:
            byte = file.read(1)
            file.seek(0)
            file.write(bytes([byte[0] ^ 1]))
        os.chmod(copy, 0o1400)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=25_000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--state", choices=[*STATES, "corrupted"])
    parser.add_argument("--without", default="")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    without = [word for word in options.without.split(",") if word]
    states = [options.state] if options.state else STATES
    runs = [(state, seed) for seed, state in enumerate(states, start=1)]
    if options.seed is not None:
        runs = [(state, options.seed) for state in states]
    if options.long:
        options.operations = 100_000
        runs = [(states[i % len(states)], random.SystemRandom().randrange(1 << 32))
                for i in range(100)]
    for state, seed in runs:
        print(f"{state}, seed {seed}, {options.operations} operations", flush=True)
        difference = compare(state, seed, options.operations, without)
        expect(difference is None,
               f"{state}, --seed {seed} --operations {options.operations}: {difference}")
    # It must see wrong bytes where there are some.
    if options.state is None and not options.long and options.seed is None:
        expect(compare("corrupted", 1, 3000, without) is not None,
               "corrupted copies went unnoticed")


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
