"""Many processes open all frames at the same moment, first when nothing is cached and then when
everything is. Each gets the right bytes, each frame is fetched once, and the daemon answers all the
while. The argument is the number of processes (default: 50; `ctest -C long` has 1,000)."""
import os
import subprocess
import sys

from nodes import Nodes, program
from processes import expect, wait_until

count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
FRAMES = 20


def read_at_once(nodes, data):
    """Starts them, waits until all of them run, lets them go, and returns what they say."""
    env = dict(nodes.env, **nodes.shim(nodes[0]))
    gate, hold = os.pipe()
    argv = [*program("read_when_told"), *(data.file(name) for name in sorted(data.frames))]
    processes = [subprocess.Popen(argv, env=env, stdin=gate, stdout=subprocess.PIPE, text=True)
                 for _ in range(count)]
    try:
        for process in processes:
            expect(process.stdout.readline() == "ready\n", "a process did not start")
        os.close(hold)
        hold = None
        nodes[0].status()
        said = {process.communicate(timeout=300)[0] for process in processes}
    finally:
        os.close(gate)
        if hold is not None:
            os.close(hold)
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    expect(all(process.returncode == 0 for process in processes), "a process failed")
    return said


with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES)
    right = [0, 0]
    for name in data.frames:
        with open(data.file(name), "rb") as file:
            content = file.read()
        right = [right[0] + len(content), right[1] + sum(content)]
    right = {f"{right[0]} {right[1]}\n"}
    nodes.start()
    expect(read_at_once(nodes, data) == right, "wrong bytes when nothing was cached")
    wait_until(lambda: nodes[0].held(data) == FRAMES and nodes[0].status()["fills_under_way"] == 0, "the fills")
    before = nodes[0].status()
    expect(before["hits"] + before["misses"] == count * FRAMES, f"not every open counted: {before}")
    expect(before["fills"] == FRAMES, f"frames were fetched more than once: {before}")
    expect(read_at_once(nodes, data) == right, "wrong bytes from the cache")
    after = nodes[0].status()
    hits = after["hits"] - before["hits"]
    expect(hits == count * FRAMES, f"{hits} hits, not {count * FRAMES}: {after}")
