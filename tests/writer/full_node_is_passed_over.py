"""A node that has no room is passed over, and its frames go to the others. A node that does not
serve the dataset gets none of it. A frame that no node takes is dropped."""
from bodhi_library import Bodhi, check_placed, frame_bytes
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=60)
    other = nodes.dataset(frames=8, name="sim2")
    nodes.configure()
    nodes[1].configure(nodes.datasets, 'keep_free = "900PB"\n')  # there is never room
    nodes[2].configure([data])
    for node in nodes:
        node.start()
    with Bodhi(nodes[0].config) as writer:
        for seq in range(60):
            writer.write(data.path, seq, frame_bytes(data, seq))
        writer.flush()
        check_placed(nodes, data, range(60), holders=[nodes[0], nodes[2]])
        expect(nodes[1].held(data) == 0, "the full node has none")
        for seq in range(8):
            writer.write(other.path, seq, frame_bytes(other, seq))
        writer.flush()
        check_placed(nodes, other, range(8), holders=[nodes[0]])
        expect(writer.figures().dropped == 0, f"{writer.figures()}")
