"""verify: finds a flipped bit anywhere in a copy and drops the copy. The next read fetches it
again."""
import json
import os

from nodes import Nodes
from processes import expect

COPY_MODE = 0o1400

with Nodes(1) as nodes:
    data = nodes.dataset(frames=40, sizes=(100_003, 4096, 1, 0, 2_500_000))
    other = nodes.dataset(frames=10, name="sim2")
    with open(data.file("f100"), "wb") as file:  # mostly a hole
        file.truncate(8 << 20)
        file.write(b"begin")
    nodes.start()
    node = nodes[0]
    nodes.push(data)
    nodes.push(other)

    def change(name, how):
        path = node.cache + data.file(name)
        os.chmod(path, 0o600)
        how(path)
        os.chmod(path, COPY_MODE)

    def flip(offset):
        def how(path):
            with open(path, "r+b") as file:
                file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
                byte = file.read(1)[0]
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte ^ 16]))
        return how

    def forge(path):
        value = bytearray(os.getxattr(path, "user.zazen"))
        value[60] ^= 1
        os.setxattr(path, "user.zazen", bytes(value))

    def verify(*words):
        done = node.ctl("verify", *words, "--json")
        return done.status, json.loads(done.stdout)

    status, all_good = verify()
    expect((status, all_good["bad"], all_good["frames"]) == (0, 0, 51), f"{all_good}")
    held = sum(os.stat(node.cache + d.file(n)).st_size for d in (data, other) for n in node.copies(d))
    expect(all_good["bytes"] == held, f"{all_good}, {held} bytes are held")
    expect("all good" in node.ctl("verify", data.path).succeeded().stdout, "in words")

    damage = {"f0": flip(0), "f5": flip(-1), "f4": flip(1_250_000), "f2": flip(0),
              "f100": flip(6 << 20), "f1": lambda path: os.truncate(path, 4095),
              "f3": lambda path: os.truncate(path, 1), "f9": forge}
    for name, how in damage.items():
        change(name, how)
    # Only what is named is looked at.
    expect(verify(other.path) == (0, dict(all_good, frames=10, bytes=other.bytes_of(other.frames))),
           "another dataset")
    expect(verify(data.path, "--frames", "10-30")[1]["frames"] == 21, "a range")
    expect(verify(data.file("f6"))[1]["frames"] == 1, "one frame")

    done = node.ctl("verify", data.path)
    expect(done.status == 1, f"bad copies are a failure: {done}")
    expect("verified 41 frames" in done.stdout and "8 bad, dropped" in done.stdout, f"{done}")
    for name in damage:
        expect(f"{data.file(name)}: bad copy, dropped" in done.stderr, f"{name}: {done}")
    expect(not node.copies(data) & set(damage), "they are dropped")
    expect(verify()[0] == 0, "what is left is good")

    # The next read takes the origin, and makes a new copy.
    for name in damage:
        nodes.serial(node, ["cp", data.file(name), nodes.path("copy")]).succeeded()
        with open(nodes.path("copy"), "rb") as file, open(data.file(name), "rb") as origin:
            expect(file.read() == origin.read(), f"{name} was served bad")
    node.wait_for_copies(data, damage)
    expect(verify() == (0, all_good), "all good again")

    for words in (("/",), (data.path, "--frames", "x"), (data.file("f1"), "--frames", "1-2")):
        expect(node.ctl("verify", *words).status == 2, f"wrong usage: {words}")
    node.stop()
    expect(node.ctl("verify").status == 3, "no daemon")
