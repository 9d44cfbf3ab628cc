"""A frame of the origin that changes while it is sent over TCP is sent once more. In the end the
node holds the origin's version."""
from bodhi_library import Bodhi, check_placed, free_addresses, make_key
from nodes import Nodes
from processes import expect
from tampering import Proxy

SIZE = 32 << 20  # more than lies in the buffers between the writer and the proxy
changes = 0

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=1, sizes=(SIZE,), ordinary=False)
    key, (address, gate) = make_key(nodes), free_addresses(2)
    node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\nknown_as = ["{gate}"]\n')
    node.start()

    def change(offset, piece):
        """Its beginning is under way already; the size stays."""
        global changes
        if offset > 1 << 20 and changes == 0:
            changes += 1
            with open(data.file("f0"), "r+b") as file:
                file.write(b"it has changed")
        return piece

    with Proxy(address, change, port=int(gate.rsplit(":", 1)[1])) as proxy:
        node.configure(nodes.datasets, f'key_file = "{key}"\n', [proxy.address])
        with Bodhi(node.config) as writer:
            writer.write_file(data.path, 0)
            writer.flush()
            figures = writer.figures()
    expect((figures.pushed, figures.dropped) == (1, 0), f"{figures}")
    expect(changes == 1 and len(proxy.from_writer) > 2 * SIZE, "it was sent twice")
    check_placed(nodes, data, [0])
