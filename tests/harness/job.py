"""The outcome of one job of the ordinary programs, and the checks that every test shares.

The truth comes from the programs' own output (OUT/rank-N), never from Zazen; the report is
then compared with it.
"""
import json
import os
from collections import Counter

from processes import expect


class RankOutput:
    def __init__(self, path):
        self.listed, self.again, self.read = [], [], []
        with open(path) as file:
            for line in file.read().splitlines():
                word, _, rest = line.partition(" ")
                if word == "list":
                    self.listed.append(rest)
                elif word == "again":
                    self.again.append(rest)
                elif word == "read":
                    size, adler, name = rest.split(" ", 2)
                    self.read.append((name, int(size), int(adler)))

    def frames_read(self, data):
        return [name for name, _, _ in self.read if name in data.frames]


class Job:
    def __init__(self, finished, data, out, node_names, report_file):
        self.status, self.stdout, self.stderr = finished.status, finished.stdout, finished.stderr
        self.data = data
        self.out = out
        self.node_names = node_names  # by rank; None without a shim
        self.ranks = []
        for rank in range(len(node_names)):
            path = os.path.join(out, f"rank-{rank}")
            self.ranks.append(RankOutput(path) if os.path.exists(path) else None)
        self.report = None
        if os.path.exists(report_file):
            with open(report_file) as file:
                self.report = json.load(file)

    def succeeded(self):
        expect(self.status == 0, f"status {self.status}\n{self.stdout}\n{self.stderr}")
        return self

    def check_bytes(self):
        """All bytes that were read are the origin's."""
        for rank, output in enumerate(self.ranks):
            for name, size, adler in output.read:
                expect(self.data.sums.get(name) == (size, adler),
                       f"rank {rank} read wrong bytes of {name}: size {size}, adler {adler}, "
                       f"origin {self.data.sums.get(name)}")

    def said(self):
        """The lines that Zazen printed."""
        return [line for line in self.stderr.splitlines() if line.startswith("zazen: ")]

    def check_says(self, *words):
        """One line, with all of these."""
        lines = self.said()
        expect(len(lines) == 1 and all(word in lines[0] for word in words),
               f"one line with {words} was expected: {self.stderr}")

    def check_silent(self):
        expect("zazen" not in self.stderr.lower(), f"stderr is not empty: {self.stderr}")

    def check_exactly_once(self, says=None):
        """Each frame in one rank's listing and read by that rank; other names by all. `says` is in
        the one line that is printed."""
        self.succeeded()
        self.check_bytes()
        self.check_says(says) if says else self.check_silent()
        owners = Counter()
        for rank, output in enumerate(self.ranks):
            listed = [name for name in output.listed if name in self.data.frames]
            others = [name for name in output.listed if name not in self.data.frames]
            expect(len(output.listed) == len(set(output.listed)), f"rank {rank} saw a name twice")
            expect(set(others) == self.data.names - self.data.frames,
                   f"rank {rank} sees other names than the origin has: {sorted(others)}")
            expect(sorted(listed) == sorted(output.frames_read(self.data)),
                   f"rank {rank} listed {sorted(listed)} and read other frames")
            owners.update(listed)
        expect(set(owners) == self.data.frames,
               f"lost: {sorted(self.data.frames - set(owners))}; the report: {self.report}")
        twice = sorted(name for name, count in owners.items() if count > 1)
        expect(not twice, f"read by several ranks: {twice}; the report: {self.report}")
        self.check_report(filtered=True, exactly_once=True, complete=True,
                          frames_listed=len(self.data.frames), frames_read=len(self.data.frames),
                          frames_read_twice=0, frames_never_read=0)

    def check_unfiltered(self, says=None):
        """Every rank sees and reads all, as without Zazen. `says` is the reason that is printed, if
        the job should have been divided."""
        self.succeeded()
        self.check_bytes()
        self.check_says("this job is not divided", says) if says else self.check_silent()
        for rank, output in enumerate(self.ranks):
            expect(set(output.listed) == self.data.names,
                   f"rank {rank} lacks {sorted(self.data.names - set(output.listed))}")
            expect(sorted(output.frames_read(self.data)) == sorted(self.data.frames),
                   f"rank {rank} did not read every frame")

    def check_ended_at_once(self, says):
        """The job ended in MPI_Init with this reason, before the program had written anything. (A rank
        without the shim may have.)"""
        expect(self.status != 0, f"status 0\n{self.stderr}")
        self.check_says("ends: ", says)
        written = [rank for rank, node in enumerate(self.node_names) if node and self.ranks[rank]]
        expect(not written, f"ranks {written} went on: {self.stderr}")

    def check_report(self, **expected):
        """The report has these values, and agrees with what the ranks did."""
        report = self.report
        expect(report is not None, f"no report was written; stderr: {self.stderr}")
        for key, value in expected.items():
            expect(report[key] == value, f"{key}: {report[key]}, not {value}: {report}")
        expect(report["ranks"] == len(self.ranks), f"ranks: {report}")
        if not report["filtered"]:
            return
        expect([rank["rank"] for rank in report["per_rank"]] == list(range(len(self.ranks))),
               f"per_rank: {report}")
        for figures, output, node in zip(report["per_rank"], self.ranks, self.node_names):
            if not figures["reported"]:
                continue
            read = output.frames_read(self.data)
            listed = [name for name in output.listed if name in self.data.frames]
            expect(figures["assigned"] == len(listed), f"assigned: {figures}, {len(listed)} listed")
            expect(figures["read"] == len(set(read)), f"read: {figures}, {len(set(read))} read")
            expect(figures["hits"] + figures["misses"] == len(read), f"hits and misses: {figures}")
            expect(figures["node"] in (node, ""), f"node: {figures}, not {node}")
        for key in ("hits", "misses"):
            total = sum(rank[key] for rank in report["per_rank"])
            expect(report[key] == total, f"{key} do not add up: {report}")

    def check_bytes_moved(self):
        """bytes_local and bytes_origin add up to the sizes of what was opened."""
        opened = [name for output in self.ranks for name in output.frames_read(self.data)]
        moved = self.report["bytes_local"] + self.report["bytes_origin"]
        expect(moved == self.data.bytes_of(opened), f"{moved} bytes: {self.report}")

    def reader_node(self):
        """frame -> name of the node whose rank read it."""
        return {name: node for output, node in zip(self.ranks, self.node_names)
                for name in output.frames_read(self.data)}
