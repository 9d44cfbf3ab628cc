"""A cache disk that does not finish its writes (on FUSE) takes the cache out of use after half a
minute, and the jobs go on. The cache comes back by itself. Runs for a minute: `ctest -C long -R
slow_disk`."""
from moody_disk import MoodyDisk
from nodes import Nodes
from processes import expect, run, wait_until


def read(nodes, data, names):
    words = ["sha256sum", *(data.file(name) for name in names)]
    done, plain = nodes.serial(nodes[0], words), run(words, nodes.env)
    expect((done.status, done.stdout, done.stderr) == (0, plain.stdout, ""), f"{done}")


with Nodes(1) as nodes:
    data = nodes.dataset(frames=8, sizes=(1000,), ordinary=False)
    node = nodes[0]
    with MoodyDisk(nodes, node) as disk:
        nodes.start()
        nodes.warm(node, data, ["f0", "f1", "f2"])
        read(nodes, data, ["f0", "f1", "f2"])
        hits = node.status()["hits"]
        expect(hits >= 3, f"copies are read: {hits}")

        disk.be_slow()
        read(nodes, data, ["f4"])  # its fill hangs in the flush
        wait_until(lambda: not node.status()["healthy"], "the cache to be out of use", 90)
        problems = node.ctl("status", "-x")
        expect(problems.status == 4 and "slow" in problems.stdout, f"{problems}")
        hits = node.status()["hits"]
        read(nodes, data, sorted(data.frames))
        expect(node.status()["hits"] == hits, "copies are not read")

        disk.be_fast()
        wait_until(lambda: node.status()["healthy"], "it to come back", 90)
        read(nodes, data, ["f0", "f1", "f2"])
        expect(node.status()["hits"] == hits + 3, "copies are read again")
        nodes.warm(node, data, ["f5"])
        node.stop()
