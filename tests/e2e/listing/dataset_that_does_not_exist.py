"""Status reports a dataset whose path does not exist. It is harmless to jobs, and found when it
appears."""
import os

from dataset import Dataset
from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=20)
    missing = nodes.dataset(frames=0, name="sim2", ordinary=False)
    os.rmdir(missing.path)
    nodes.start()
    status = nodes[0].status()
    expect(any(missing.path in problem for problem in status["problems"]), f"{status}")
    nodes.push(data)
    refused = nodes[0].ctl("push", missing.path)
    expect(refused.status == 1 and missing.path in refused.stderr, f"{refused}")

    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once(says=f"only partly divided: every rank sees all frames of {missing.path}: "
                                "No such file or directory")
    job.check_report(hits=20, misses=0)
    job = nodes.mpirun("list_and_read_c", missing, seconds=30)
    expect(job.status != 0 and "No such file or directory" in job.stderr, job.stderr)

    later = Dataset(missing.path, frames=12)
    nodes.push(later)
    job = nodes.mpirun("list_and_read_c", later)
    job.check_exactly_once()
    job.check_report(hits=12, misses=0)
