"""A job lists the origin's directory on one rank only, and not at all with a kept listing."""
import os
import shutil
import time

from nodes import Nodes, skip
from processes import expect

if not shutil.which("strace"):
    skip("strace is not installed")


def processes_that_list(nodes, data, prefix):
    trace = os.path.join(nodes.directory, prefix)
    os.mkdir(trace)
    before = ["strace", "-ff", "--seccomp-bpf", "-y", "-e", "trace=getdents64",
              "-o", os.path.join(trace, "p")]
    nodes.mpirun("list_and_read_c", data, before=before).check_exactly_once()
    listing = 0
    for name in os.listdir(trace):
        with open(os.path.join(trace, name)) as file:
            listing += f"<{data.path}>" in file.read()
    return listing


with Nodes(2) as nodes:
    data = nodes.dataset(frames=40)
    nodes.start()
    nodes.push(data)
    time.sleep(2.2)  # a listing younger than two seconds is not kept (D20)
    expect(processes_that_list(nodes, data, "first") == 1, "one rank lists the origin")
    expect(processes_that_list(nodes, data, "second") == 0, "the kept listing serves")
    data.add([100, 101])
    expect(processes_that_list(nodes, data, "third") == 1, "a changed directory is listed anew")
