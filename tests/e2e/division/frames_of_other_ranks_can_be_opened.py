"""A rank can always open a frame of another rank, and the audit counts the frames that were read
twice."""
from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=20)
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("read_all_by_name.py", data).succeeded()
    job.check_bytes()
    job.check_silent()
    for output in job.ranks:
        expect(sorted(output.frames_read(data)) == sorted(data.frames), "a frame did not open")
    job.check_report(filtered=True, exactly_once=False, frames_listed=20, frames_read=20,
                     frames_read_twice=20, frames_never_read=0)
    expect(job.report["hits"] + job.report["misses"] == 80, f"{job.report}")
