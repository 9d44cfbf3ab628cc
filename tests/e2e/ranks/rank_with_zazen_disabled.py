"""With ZAZEN_DISABLE=1 for one rank, or for all, the job ends, and every rank sees and reads
all."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    off = {"ZAZEN_DISABLE": "1"}
    job = nodes.mpirun("list_and_read_c", data, shims=[True, off, True], seconds=30)
    job.check_unfiltered(says="rank 2 did not")
    job.check_report(filtered=False)
    job = nodes.mpirun("list_and_read_c", data, shims=[off, True, True], seconds=30)
    job.check_unfiltered(says="rank 0 did not")
    job = nodes.mpirun("list_and_read_c", data, shims=[off, off, off], seconds=30)
    job.check_unfiltered()
    expect(job.report is None, "a disabled job writes no report")
