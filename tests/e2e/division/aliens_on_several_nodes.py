"""Each frame is read once if frames are aliens on several nodes or on one, native, or nowhere."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=10)
    nodes.start()
    nodes.push(data)
    data.add(range(10, 40))
    several = [f"f{seq}" for seq in range(10, 20)]
    sole = [f"f{seq}" for seq in range(20, 30)]
    native_and_alien = [f"f{seq}" for seq in range(0, 5)]
    nodes.warm(nodes[0], data, several + native_and_alien)
    nodes.warm(nodes[1], data, several + sole)
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    reader = job.reader_node()
    expect(all(reader[name] == "n1" for name in sole), "rule 2: the sole holder reads")
    expect(job.report["hits"] >= 20, f"natives and sole aliens are hits: {job.report}")
