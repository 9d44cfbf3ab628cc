"""A directory of a dataset that has become a link leads no push out of the dataset, nor does a
frame that is a link. The push names the frame itself, or a daemon pushes what a program has written
there."""
import json
import os

from bodhi_library import Bodhi, free_addresses, make_key
from nodes import Nodes
from processes import expect, wait_until

SECRET = b"not for everybody" * 1000


def cached(node):
    found = []
    for top, _, names in os.walk(node.cache):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found.append(file.read())
    return found


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=3, template="run{seq}/traj", ordinary=False, keys="push = true")
    outside = nodes.path("outside")
    os.mkdir(outside)
    with open(f"{outside}/traj", "wb") as file:
        file.write(SECRET)
    os.symlink(outside, data.file("run7"))
    os.mkdir(data.file("run8"))
    os.symlink(f"{outside}/traj", data.file("run8/traj"))

    # Over TCP: the node sees the content only.
    key, address = make_key(nodes), free_addresses(1)[0]
    node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\n', [address])
    node.start()
    with Bodhi(node.config) as writer:
        for seq in (7, 8, 0, 1):
            writer.write_file(data.path, seq)
        writer.flush()
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (2, 2), f"{figures}")
    expect(node.held(data, "native") == 2, f"{json.dumps(node.status()['datasets'])}")

    nodes.serial(node, ["sh", "-c", f"cd {data.path}; for i in 7 8 2; do echo more >> run$i/traj; done"])
    wait_until(lambda: node.held(data, "native") == 3, "the one that is a frame")

    def at_rest():
        figures = node.status()["writer"]
        return figures["being_written"] == figures["waiting"] == 0
    wait_until(at_rest, "the others to be looked at")
    expect(node.status()["writer"]["pushed"] == 1, f"{node.status()['writer']}")
    expect(not any(SECRET in content for content in cached(node)), "the cache has what is outside")
