"""The index has only copies that everybody may reach. When a dataset's directory is closed its
copies leave the index, and when it is opened again they come back."""
import os
import struct

from people import ALICE, SystemNode
from processes import expect, wait_until

HEADER, ENTRY, FREE, REMOVED = 64, 64, 0, 2**64 - 1


def indexed(runtime):
    with open(os.path.join(runtime, "index"), "rb") as file:
        table = file.read()
    inodes = (struct.unpack_from("=Q", table, at)[0] for at in range(HEADER, len(table), ENTRY))
    return {ino for ino in inodes if ino not in (FREE, REMOVED)}


with SystemNode() as node:
    data, other = node.dataset(6, name="data", sizes=(1000,)), node.dataset(3, name="other", sizes=(1000,))
    for dataset in (data, other):
        for name in dataset.frames:
            os.chmod(dataset.file(name), 0o644)
    node.start()
    node.nodes.push(data)
    node.nodes.push(other)

    def inodes(dataset):
        return {os.stat(node.copy(dataset.file(name))).st_ino for name in dataset.frames}

    def index_has(*datasets):
        wanted = set().union(*map(inodes, datasets))
        wait_until(lambda: indexed(node.node.runtime) == wanted, f"the index to have {datasets}")

    index_has(data, other)
    os.chmod(data.path, 0o750)
    index_has(other)
    expect(node.check(ALICE, [data.file("f1")], "closed"), "alice reads on")
    os.chmod(data.path, 0o755)
    index_has(data, other)
