"""With nothing cached each frame is read once, all from the origin, and each is an alien
afterwards."""
from nodes import Nodes
from processes import expect

with Nodes(4) as nodes:
    data = nodes.dataset(frames=61)
    nodes.start()
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=0, misses=61, nodes=4, bytes_local=0,
                     bytes_origin=data.bytes_of(data.frames))
    shares = [len(output.frames_read(data)) for output in job.ranks]
    expect(sorted(shares) == [7, 7, 7, 8, 8, 8, 8, 8], f"residues are not dealt evenly: {shares}")
    nodes.wait_for_aliens(data, 61)
    reader = job.reader_node()
    for node in nodes:
        mine = {frame for frame in reader if reader[frame] == node.name}
        expect(node.copies(data) == mine, f"{node.name} caches other frames than it read")
