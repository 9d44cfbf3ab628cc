"""With filter = false every rank sees all frames, and they come from the cache all the same."""
from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    plain = nodes.dataset(frames=20, name="plain", keys="filter = false")
    filtered = nodes.dataset(frames=20, name="filtered")
    nodes.start()
    for node in nodes:
        nodes.push(plain, "--to", f"unix:{node.runtime}")
    nodes.push(filtered)
    job = nodes.mpirun("list_and_read_c", plain)
    job.check_unfiltered()
    hits = sum(node.status()["hits"] for node in nodes)
    expect(hits == 4 * 20, f"{hits} hits of 4 ranks with 20 frames each")
    nodes.mpirun("list_and_read_c", filtered).check_exactly_once()
