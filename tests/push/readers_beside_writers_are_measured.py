"""zazen-bench readers reads frames from the cache while others really arrive. ^C ends it, and
nothing is left behind in either case."""
import json
import os
import signal
import tempfile

from network import BUILD, expect, wait_until
from processes import Process

READ, WRITTEN = [30_000, 2_000_000], [50_000, 3_000_000]


def begin(directory, *more):
    sizes = [word for size in READ for word in ("--read-size", size)]
    sizes += [word for size in WRITTEN for word in ("--write-size", size)]
    return Process([f"{BUILD}/tools/zazen-bench", "readers", "--dir", directory, "--json", *sizes, *more],
                   dict(os.environ))


with tempfile.TemporaryDirectory() as directory:
    done = begin(directory, "--read-bytes", "5MB", "--rate", "20MB", "--rounds", 2,
                 "--turn", 0.3).finish(200)
    figures = json.loads(done.succeeded().stdout)["cases"]
    pairs = [(one["read_size"], one["write_size"]) for one in figures]
    expect(pairs == [(read, written) for read in READ for written in WRITTEN], pairs)
    for one in figures:
        # Of each of the two turns at least one whole frame.
        expect(one["pushed_bytes"] % one["write_size"] == 0, one)
        expect(one["pushed_bytes"] >= 2 * one["write_size"], one)
        expect(0 < one["pushed_bytes_per_second"] and one["rate"] == 20e6, one)
        expect(0 < one["lowest_ratio"] <= one["ratio"] <= one["highest_ratio"], one)
        expect(min(one["read_bytes_per_second_alone"], one["read_bytes_per_second_beside"]) > 0, one)
    expect(os.listdir(directory) == [], "nothing is left")

    bench = begin(directory, "--rounds", 1000)
    wait_until(lambda: os.listdir(directory), "the beginning")
    bench.signal(signal.SIGINT)
    expect(bench.finish(60).status == 128 + signal.SIGINT, "interrupted")
    expect(os.listdir(directory) == [], "nothing is left after ^C")
