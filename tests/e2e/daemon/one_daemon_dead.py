"""One daemon is killed before the job. The other nodes read its frames, each once, spread over the
ranks whose nodes can cache them. The next job finds them there."""
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
    ranks = job.report["per_rank"]
    orphans = [rank["rank"] for rank in ranks if rank["node"] == ""]
    expect(orphans == [4, 5], f"ranks without a daemon: {orphans}")
    expect(not any(ranks[rank]["assigned"] for rank in orphans), f"they got frames: {ranks}")
    misses = {node.name: sum(rank["misses"] for rank in ranks if rank["node"] == node.name)
              for node in (nodes[0], nodes[1], nodes[3])}
    expect(max(misses.values()) - min(misses.values()) <= 1, f"misses of the nodes: {misses}")

    for node in (nodes[0], nodes[1], nodes[3]):
        node.settle()
    for protocol in ("exchange", "paper"):  # the daemon is dead still
        local = nodes.mpirun("list_and_read_c", data, env={"ZAZEN_PROTOCOL": protocol})
        local.check_exactly_once()
        local.check_report(hits=60, misses=0)

    nodes[2].start()  # the paper: the node is back, and its frames are cached twice now
    expect(nodes[2].held(data, "native") == lost, "natives are kept over a crash")
    again = nodes.mpirun("list_and_read_c", data)
    again.check_exactly_once()
    again.check_report(hits=60, misses=0)
