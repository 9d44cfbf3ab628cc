"""A daemon gets kill -9 at random moments, while programs fill, writers push and rewrite, and
frames are evicted, and also while it starts. After each kill every held copy is whole and true, and
the logs say the same. Nothing is left half done, and every frame that a writer was told of is
stored.

    kill.py [--kills N] [--seed S]
"""
import argparse
import hashlib
import json
import os
import random
import struct
import threading
import time

import daemon_socket
from nodes import ZAZENCTL, ZAZEND, Nodes
from processes import Process, expect, wait_until

FRAMES, MAX_FILES = 40, 50  # of two datasets
LONGEST_LIFE = 0.08  # seconds from the first request to the kill


def read(path):
    with open(path, "rb") as file:
        return file.read()


def logged(path):
    """The frames of a sequence log after a start, which has cut off a torn end."""
    held = set()
    for seq, operation, _ in struct.iter_unpack("<QII", read(path)[16:]):
        (held.add if operation == 1 else held.discard)(seq)
    return held


class Trial:
    def __init__(self, nodes, rng):
        self.nodes, self.node, self.rng = nodes, nodes[0], rng
        self.datasets = [nodes.dataset(frames=FRAMES, name=name, sizes=(0, 1, 4097, 70_000))
                         for name in ("sim1", "sim2")]
        self.stored = {data: set() for data in self.datasets}  # acknowledged to writers
        self.evicted = []  # natives that may have gone, in this life
        self.answers = 0
        # Every content that a frame ever had.
        self.versions = {data.file(name): {read(data.file(name))}
                         for data in self.datasets for name in data.frames}
        nodes.configure(f"max_files = {MAX_FILES}\n")

    def die(self):
        """One life of the daemon, and its end."""
        if self.rng.random() < 0.2:  # while it starts
            process = Process([ZAZEND, "--config", self.node.config], self.nodes.env)
            time.sleep(self.rng.uniform(0, 0.03))
            process.kill_session()
            process.finish()
            return
        self.node.start()
        finish = [act() for act in self.activities()]
        time.sleep(self.rng.uniform(0, LONGEST_LIFE))
        self.node.kill()
        for end in finish:
            end()
        for data, names in self.evicted:
            self.stored[data] -= names
        self.evicted = []

    def activities(self):
        data, other = self.rng.sample(self.datasets, 2)
        frames = sorted(data.frames)
        self.rng.shuffle(frames)
        # A frame that changes is not pushed: a push declares that it is complete.
        changing, still = frames[:2], frames[2:]
        chosen = [lambda: self.fill(data, still[:15])]
        if self.rng.random() < 0.8:
            chosen.append(lambda: self.push(data, still[10:25]))
        if self.rng.random() < 0.3:
            chosen.append(lambda: self.push_by_command(other))
        if self.rng.random() < 0.5:
            chosen += [lambda: self.fill(data, changing, known=False),
                       lambda: self.rewrite(data, changing)]
        if self.rng.random() < 0.4:
            chosen.append(lambda: self.evict(data))
        self.rng.shuffle(chosen)
        return chosen

    def start(self, argv):
        env = dict(self.nodes.env, **self.nodes.shim(self.node))
        return Process(argv, env)

    def fill(self, data, names, known=True):
        files = [data.file(name) for name in names]
        expected = hashlib.sha256(b"".join(map(read, files))).hexdigest() if known else ""
        process = self.start(["sh", "-c", 'cat "$@" | sha256sum', "sh", *files])

        def end():
            done = process.finish().succeeded()
            expect(done.stdout.startswith(expected), f"{names}: other bytes than the origin's")
        return end

    def push(self, data, names):
        told = []
        thread = threading.Thread(
            target=lambda: told.extend(daemon_socket.push(self.node.runtime, data, names)))
        thread.start()

        def end():
            thread.join()
            self.answers += len(told)
            self.stored[data] |= set(told)
        return end

    def push_by_command(self, data):
        process = Process([ZAZENCTL, "--config", self.node.config, "push", data.path],
                          self.nodes.env)

        def end():
            if process.finish().status == 0:
                self.stored[data] |= data.frames
        return end

    def rewrite(self, data, names):
        """By programs under the shim, whatever state the daemon is in."""
        ends = []
        for name in names:
            self.stored[data].discard(name)
            fresh = self.nodes.path(f"fresh-{name}")
            content = self.rng.randbytes(data.sums[name][0])
            self.versions[data.file(name)].add(content)
            with open(fresh, "wb") as file:
                file.write(content)
            ends.append((self.start(["cp", fresh, data.file(name)]), fresh, data.file(name)))

        def end():
            for process, fresh, frame in ends:
                process.finish().succeeded()
                expect(read(fresh) == read(frame), f"{frame} was not written")
                os.unlink(fresh)
        return end

    def evict(self, data):
        words = ["--fetched"] if self.rng.random() < 0.5 else []
        first = self.rng.randrange(FRAMES)
        last = first + FRAMES // 4
        if not words:
            self.evicted.append((data, {f"f{seq}" for seq in range(first, last + 1)}))
        process = Process([ZAZENCTL, "--config", self.node.config, "evict", data.path,
                           "--frames", f"{first}-{last}", *words], self.nodes.env)

        return process.finish

    def check(self):
        self.node.start()
        self.wait_until_reconciled()
        allowed = {os.path.join(self.node.cache, ".zazen", name) for name in ("node-id", "lock")}
        for data in self.datasets:
            shown = json.loads(self.node.ctl("ls", data.path, "--json").succeeded().stdout)
            held = {frame["name"]: frame for frame in shown["frames"]}
            state = self.node.cache + data.path
            for kind in ("native", "alien"):
                log = {f"f{seq}" for seq in logged(f"{state}/.zazen/{kind}.seq")}
                listed = {name for name, frame in held.items() if frame["kind"] == kind}
                expect(log == listed, f"{kind}: the log says {log}, ls {listed}")
            for name, frame in held.items():
                copy, origin = read(f"{state}/{name}"), read(data.file(name))
                expect(len(copy) == frame["bytes"], f"{name}: {len(copy)} bytes, not {frame}")
                expect(copy in self.versions[data.file(name)], f"{data.file(name)}: not whole")
                # A fetched one may be as old as the last moment before a change: its opens are
                # checked (trust.h), as is seen below.
                expect(copy == origin or frame["kind"] == "alien", f"{data.file(name)}: old")
            for name in self.stored[data]:
                expect(held.get(name, {}).get("kind") == "native",
                       f"{data.file(name)} was pushed and is not held as a native: {held.get(name)}")
            self.fill(data, sorted(held))()  # each can be read
            allowed |= {f"{state}/{name}" for name in held}
            allowed |= {f"{state}/.zazen/{name}" for name in
                        ("native.seq", "alien.seq", "native.table", "alien.table", "listing")}
        left = {os.path.join(top, name) for top, _, names in os.walk(self.node.cache)
                for name in names} - allowed
        expect(not left, f"left over: {left}")

    def wait_until_reconciled(self):
        wait_until(lambda: self.node.status().get("reconciled", True), "the daemon to reconcile")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with Nodes(1) as nodes:
        trial = Trial(nodes, random.Random(options.seed))
        kills = 0
        while kills < options.kills:
            trial.die()
            kills += 1
            trial.check()
            # The daemon that was looked at is killed too, or stopped.
            if kills < options.kills and trial.rng.random() < 0.5:
                trial.node.kill()
                kills += 1
            else:
                trial.node.stop()
        expect(trial.answers > kills, f"{trial.answers} pushes were answered: too few to tell")
        print(f"{kills} kills, {trial.answers} pushes answered")


main()
