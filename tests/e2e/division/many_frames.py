"""A directory of 100,000 frames (with --long a million) is divided, each name for one rank."""
import os
import sys
import time

from nodes import Nodes
from processes import expect

COUNT = 1_000_000 if "--long" in sys.argv else 100_000

with Nodes(4) as nodes:
    data = nodes.dataset(frames=0, keys='audit = "warn"')  # the ranks only list
    for seq in range(COUNT):
        os.mknod(data.file(f"f{seq}"))
    nodes.start()
    begun = time.monotonic()
    job = nodes.mpirun("list_only_c", data, seconds=100).succeeded()
    took = time.monotonic() - begun
    seen = bytearray(COUNT)
    for rank, output in enumerate(job.ranks):
        frames = [name for name in output.listed if name not in data.names]
        expect(len(frames) == COUNT // 8, f"rank {rank} sees {len(frames)} frames")
        for name in frames:
            expect(not seen[int(name[1:])], f"{name} is in two listings")
            seen[int(name[1:])] = 1
    expect(all(seen), "a frame is in no listing")
    report = job.report
    expect(report["frames_listed"] == COUNT and report["frames_never_read"] == COUNT, f"{report}")
    print(f"{COUNT:,} frames: job {took:.2f} s, protocol {report['protocol_seconds']:.3f} s")
