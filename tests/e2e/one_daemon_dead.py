"""One daemon killed before the job: its frames are read by others, each once."""
from nodes import Nodes
from processes import expect

with Nodes(4) as nodes:
    data = nodes.dataset(frames=60)
    nodes.start()
    nodes.push(data)
    lost = len(nodes[2].copies(data))
    nodes[2].kill()
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=60 - lost, misses=lost)
    orphans = [rank["rank"] for rank in job.report["per_rank"] if rank["node"] == ""]
    expect(orphans == [4, 5], f"ranks without a daemon: {orphans}")

    nodes[2].start()  # the paper: the node is back, and its frames are cached twice now
    expect(nodes[2].held(data, "native") == lost, "natives are kept over a crash")
    again = nodes.mpirun("list_and_read_c", data)
    again.check_exactly_once()
    again.check_report(hits=60, misses=0)
