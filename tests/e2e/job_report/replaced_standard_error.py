"""Standard error is closed, and a file of the program has its number. No line of Zazen's gets into
that file."""
from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=48, sizes=(100,))
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("file_as_descriptor_2.py", data, env={"ZAZEN_LOG": "info"})
    expect(job.status == 120, f"frames were lost: {job.status}")
    for rank in range(4):
        with open(f"{job.out}/data-{rank}", "rb") as file:
            expect(set(file.read()) == {ord("x")}, f"rank {rank}: the file has lines of ours")
    # Lines before that are there.
    job.check_says("frames of " + data.path + " assigned")
