"""A program keeps frames open and changes them long after it opened them. Other nodes drop their
copies after each change. A program that opens frames for reading and writing, and writes nothing,
costs no copy on other nodes."""
import subprocess

from changed_frames import (KEYS, PYTHON, SIZE, Nodes, expect, has_copy, start_nodes, time, wait_for_drop,
                            wait_until)

WRITER = """
import mmap, os, sys, time
files = [open(name, "r+b") for name in sys.argv[1:]]
view = mmap.mmap(files[1].fileno(), 0)
print("open", flush=True)
for line in sys.stdin:
    if line == "write\\n":
        os.pwrite(files[0].fileno(), b"W", 5)
    else:
        view[6:7] = b"M"
    print(time.monotonic(), flush=True)
"""
LONGER_THAN_A_REST = 3  # seconds; ChangingFrames::Limits::rest

with Nodes(2) as nodes:
    data = nodes.dataset(frames=6, sizes=(SIZE,), keys=KEYS)
    start_nodes(nodes, over_tcp=True)
    here, there = nodes
    nodes.warm(there, data, sorted(data.frames))

    reader = "import sys\nfor name in sys.argv[1:]: open(name, 'r+b').read()"
    nodes.serial(here, [PYTHON, "-c", reader, *(data.file(f"f{seq}") for seq in range(2, 6))]).succeeded()

    env = dict(nodes.env, **nodes.shim(here))
    with subprocess.Popen([PYTHON, "-c", WRITER, data.file("f0"), data.file("f1")], env=env, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        try:
            expect(writer.stdout.readline() == "open\n", "the program did not open the frames")
            for name, how in (("f0", "write"), ("f1", "store")):
                time.sleep(LONGER_THAN_A_REST)
                expect(has_copy(there, data, name), "the copy went before the frame was changed: no test")
                writer.stdin.write(f"{how}\n")
                writer.stdin.flush()
                took = wait_for_drop(there, data, name, float(writer.stdout.readline()))
                print(f"{how}: {took:.3f} s")
            expect(here.status()["changes"]["watched"] == 2, "frames that rest are watched")
        finally:
            writer.kill()

    wait_until(lambda: here.status()["changes"]["watched"] == 0, "the frames to rest", 60)
    for seq in range(2, 6):
        expect(has_copy(there, data, f"f{seq}"), f"f{seq} was dropped, though nobody wrote to it")
