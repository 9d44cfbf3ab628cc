"""A dataset that is rewritten, replaced or written to while programs run is not served stale."""
import os

from nodes import PYTHON, Nodes
from processes import expect

READER = """
import os, sys
for line in sys.stdin:
    word, *rest = line.split()
    if word == "read":
        with open(rest[0], "rb") as file:
            print(file.read(64).decode(), flush=True)
    elif word == "rename":
        os.rename(*rest)
        print("renamed", flush=True)
"""


def write(data, names, text, age=3600):
    """New content in new files that look an hour old: the sample alone would not find them
    young, and those that are copied count as complete."""
    for name in names:
        path = data.file(name)
        with open(path + ".new", "w") as file:
            file.write(f"{text} {name}")
        now = os.stat(path + ".new").st_mtime
        os.utime(path + ".new", (now - age, now - age))
        os.rename(path + ".new", path)


with Nodes(1) as nodes:
    # One dataset for each case: a node that has seen a stale copy is on its guard.
    rewritten, job, replaced = (nodes.dataset(frames=40, name=name, ordinary=False)
                                for name in ("rewritten", "job", "replaced"))
    names = sorted(rewritten.frames)
    for data in (rewritten, replaced):
        write(data, names, "old")
    nodes.start()
    node = nodes[0]
    for data in (rewritten, job, replaced):
        nodes.push(data)

    # A sample has just been taken; the next process notices all the same.
    expect(nodes.serial(node, ["cat", rewritten.file("f0")]).stdout == "old f0", "a plain hit")
    write(rewritten, names, "new")
    shown = nodes.serial(node, ["cat", rewritten.file("f1"), rewritten.file("f2")])
    expect(shown.stdout == "new f1new f2", f"after the dataset was rewritten: {shown}")

    # And so does an MPI job that starts right after a sample.
    nodes.serial(node, ["cat", job.file("f3")]).succeeded()
    for name in names:
        job.rewrite(name)
        os.utime(job.file(name), (1e9, 1e9))
    nodes.mpirun("list_and_read_c", job).check_exactly_once()

    # One process that puts another directory in the dataset's place.
    other = nodes.path("other")
    os.mkdir(other)
    for name in names:
        with open(f"{other}/{name}", "w") as file:
            file.write(f"second {name}")
    script = nodes.path("reader.py")
    with open(script, "w") as file:
        file.write(READER)
    place = replaced.path
    commands = (f"read {place}/f1\nrename {place} {place}.aside\n"
                f"rename {other} {place}\nread {place}/f2\nread {place}/f3\n")
    shown = nodes.serial(node, ["sh", "-c", f"printf '{commands}' | {PYTHON} {script}"])
    expect(shown.stdout.split("\n")[:5] == ["old f1", "renamed", "renamed", "second f2",
                                            "second f3"], f"after the exchange: {shown}")
