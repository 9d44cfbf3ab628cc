"""A node whose disk takes much longer than writer_timeout for a flush (on FUSE) is not silent: it
says that it is at work. The frame is sent once, and arrives."""
import os
import time

from bodhi_library import Bodhi, configure_writer, free_addresses, make_key
from moody_disk import MoodyDisk
from nodes import Nodes
from processes import expect, wait_until

SIZE = 100_000

with Nodes(1) as nodes:
    data = nodes.dataset(frames=0)
    node, key, address = nodes[0], make_key(nodes), free_addresses(1)[0]
    with MoodyDisk(nodes, node) as disk:
        node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\n')
        node.start()
        config = configure_writer(nodes, data, [address], key, 'writer_timeout = "1s"')
        with Bodhi(config) as writer:
            disk.be_slow()
            writer.write(data.path, 1, os.urandom(SIZE))
            wait_until(lambda: node.status()["network"]["bytes"] == SIZE, "the content")
            time.sleep(6)  # the flush does not return
            expect(writer.figures().pushed == 0, f"{writer.figures()}")
            expect(writer.nodes()[0][2] == 1, f"it answers: {writer.nodes()}")
            disk.be_fast()
            writer.flush()
            expect((writer.figures().pushed, writer.figures().dropped) == (1, 0), f"{writer.figures()}")
        network = node.status()["network"]
        expect(network["bytes"] == SIZE, f"sent once: {network}")
        expect(node.held(data, "native") == 1, "it is there")
        node.stop()
