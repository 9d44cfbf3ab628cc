"""ZAZEN_FILTER=on claims that every rank has the shim. If the launcher knows better, no rank waits
for the one without the shim."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("list_and_read_c", data, shims=[True, True, False],
                       env={"ZAZEN_FILTER": "on"}, seconds=45)
    job.check_unfiltered(says="rank 4 did not")
    expect("not every rank" in job.report["reason"], f"{job.report}")
    nodes.mpirun("list_and_read_c", data, env={"ZAZEN_FILTER": "on"}).check_exactly_once()
