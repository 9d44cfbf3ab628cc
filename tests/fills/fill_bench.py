"""How much the fills slow the programs' own reads: a cold frame of a throttled file server is read
with and without Zazen, by turns. Prints a table, or JSON.

    ZAZEN_BUILD=build/release PYTHONPATH=tests/e2e python3 tests/fills/fill_bench.py [--json]
"""
import json
import os
import statistics
import sys
import time

from origin_server import MB, OriginServer
from processes import expect, wait_until

RATE, SIZE = 20 * MB, 32 * MB
ROUNDS = 1 if "--once" in sys.argv else 3
CASES = {  # title: readers, and how each of them reads
    "the whole frame": [dict(piece=MB)],
    "its first 4 MB": [dict(end=4 * MB)],
    "4 MB in its middle": [dict(first=SIZE // 2, end=SIZE // 2 + 4 * MB)],
    "8 MB, with 0.1 s of work after each": [dict(end=8 * MB, piece=MB, pause=0.1)],
    "the first 4 MB of 8 frames at once": [dict(end=4 * MB)] * 8,
    "8 whole frames at once": [dict(piece=MB)] * 8,
}


def seconds(server, readers, shim):
    began = time.monotonic()
    running = [server.start_reader(f"f{seq}", shim=shim, **how)
               for seq, how in enumerate(readers)]
    for process in running:
        process.finish().succeeded()
    return time.monotonic() - began


def forget(server, frames):
    """Neither the node nor the kernel has anything of them."""
    server.node.ctl("evict", server.path).succeeded()
    for seq in range(frames):
        fd = os.open(server.file(f"f{seq}"), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


with OriginServer(rate=RATE) as server:
    for seq in range(8):
        server.write(f"f{seq}", SIZE)
    server.start_node()
    figures = []
    for title, readers in CASES.items():
        plain, filled = [], []
        for _ in range(ROUNDS):
            forget(server, 8)
            plain.append(seconds(server, readers, shim=False))
            forget(server, 8)
            fills = server.node.status()["fills"]
            filled.append(seconds(server, readers, shim=True))
            server.control("rate 0")
            wait_until(lambda: server.node.status()["fills"] == fills + len(readers), "the fills")
            server.control(f"rate {RATE}")
        ratio = statistics.median(b / a for a, b in zip(plain, filled))
        figures.append(dict(case=title, readers=len(readers), rounds=ROUNDS,
                            plain_seconds=round(statistics.median(plain), 3),
                            filled_seconds=round(statistics.median(filled), 3),
                            ratio=round(ratio, 3)))
        if "--json" not in sys.argv:
            print("{case:38} plain {plain_seconds:6.2f} s   with fills {filled_seconds:6.2f} s   "
                  "ratio {ratio:.3f}".format(**figures[-1]), flush=True)
        expect(len(server.copies()) == len(readers), "each frame that was read is cached")
    if "--json" in sys.argv:
        print(json.dumps(figures, indent=2))
