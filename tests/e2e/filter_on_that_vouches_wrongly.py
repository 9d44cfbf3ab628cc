"""ZAZEN_FILTER=on vouches for every rank; if one has no shim after all, the job still ends."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("list_and_read_c", data, shims=[True, True, False],
                       env={"ZAZEN_FILTER": "on"}, seconds=45)
    job.check_unfiltered()
    expect("did not meet" in job.report["reason"], f"{job.report}")
    nodes.mpirun("list_and_read_c", data, env={"ZAZEN_FILTER": "on"}).check_exactly_once()
