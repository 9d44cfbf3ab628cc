"""Names that lead elsewhere, frames that are too large or do not fit, garbage, too many connections
and silent writers are refused. Nothing is stored, and an honest writer succeeds."""
import errno
import os
import random
import struct
import time

from network import (CONTENT_END, NATIVES, PUSH, Content, Nodes, Stranger, check_held, expect, left_overs,
                     listen, push, wait_until)

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    content = Content(nodes, {"f1": 1000, "f2": 70_000})
    listen(node, [data], extra='max_frame = "64KiB"\nmax_connections = 4\nmax_rate = "50MB"\n')

    def honest():
        answers, done = push(nodes, node.address, None, data, "bytes", content.words(["f1"]))
        expect(answers == {"f1": 0}, f"{done}")
        check_held(node, data, content, ["f1"])

    honest()
    for name in ("../f1", "/f1", "f1/", "./f1", "f01", "f1 ", "f1\t", "f1/../f2", ".zazen/native.seq", "f-1", "",
                 "f18446744073709551616", ".zazen/waiting/7", "f" + "1" * 200):
        answers, done = push(nodes, node.address, None, data, "bytes", [name, content.file("f1")])
        expect(list(answers.values()) == [errno.EINVAL], f"{name!r}: {done}")
    for dataset in ("/", "/etc", data.path + "/", data.path + "/../sim1", os.path.dirname(data.path)):
        answers, done = push(nodes, node.address, None, dataset, "bytes", content.words(["f1"]))
        expect(answers == {"f1": errno.ENOENT}, f"{dataset}: {done}")

    # Too large: an honest writer does not even send it; the node closes one that does.
    answers, done = push(nodes, node.address, None, data, "bytes", content.words())
    expect(answers == {"f1": 0, "f2": errno.EFBIG}, f"{done}")
    for size in (64 * 1024 + 1, 2**63, 2**64 - 1):
        with Stranger(node.address) as writer:
            expect(writer.introduce() == 0, "loopback")
            writer.socket.sendall(writer.message(PUSH, writer.names(data.path, "f3"), 9, size))
            expect(writer.answer() == (9, errno.EFBIG) and writer.is_closed(), f"{size}")

    # Bytes that no honest writer sends.
    chance = random.Random(8)
    for step in range(200):
        with Stranger(node.address) as writer:
            try:
                if step % 2 == 0:
                    writer.socket.sendall(chance.randbytes(chance.randrange(1, 3000)))
                    continue
                if writer.introduce() != 0:
                    continue
                good = writer.message(chance.choice((PUSH, CONTENT_END, NATIVES, 4, 5, 77)),
                                      writer.names(data.path, chance.choice(("f3", ""))), 1,
                                      chance.choice((0, 10, 2**40)))
                bad = bytearray(good)
                if chance.random() < 0.5:
                    bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
                writer.socket.sendall(bytes(bad) + chance.randbytes(chance.randrange(100)))
            except OSError:
                pass
    wait_until(lambda: node.status()["network"]["connections"] == 0, "their places to be free")
    with Stranger(node.address) as writer:
        expect(writer.introduce() == 0, "loopback")
        good = writer.message(NATIVES, writer.names(data.path, ""))
        writer.socket.sendall(good)
        length = struct.unpack("<HHIQQiI", writer.receive(32))[2]
        writer.receive(length + 32)
        writer.socket.sendall(good)  # the same once more
        expect(writer.is_closed(), "a message that was sent twice")

    # Silence: more connections than may wait, and a writer that stops in the middle of a message.
    wait_until(lambda: node.status()["network"]["connections"] == 0, "all to be gone")
    silent = [Stranger(node.address) for _ in range(100)]
    honest()
    slow = Stranger(node.address)
    expect(slow.introduce() == 0, "loopback")
    slow.socket.sendall(slow.message(PUSH, slow.names(data.path, "f4"), 1, 1000)[:40])
    begun = time.monotonic()
    for one in silent:
        expect(one.is_closed(), "a silent connection stays")
        one.socket.close()
    expect(time.monotonic() - begun < 30, "silent connections stay too long")
    honest()
    expect(slow.is_closed(), "half a message keeps its place")
    slow.socket.close()

    # Places are few, and are free again.
    seated = [Stranger(node.address) for _ in range(4)]
    expect([one.introduce() for one in seated] == [0] * 4, "four places")
    with Stranger(node.address) as late:
        expect(late.introduce() == errno.EUSERS, "a fifth one")
    for one in seated:
        one.socket.close()
    wait_until(lambda: node.status()["network"]["connections"] == 0, "the places to be free")
    honest()
    check_held(node, data, content, ["f1"])
    expect(left_overs(node, data) == ["1"], f"left over: {left_overs(node, data)}")
    node.stop()  # cleanly

    # No room: said so, and the next frame that fits is taken.
    small = Content(nodes, {"f5": 60_000, "f6": 60_000, "f7": 100})
    listen(node, [data], extra='capacity = "100KB"\n')
    answers, done = push(nodes, node.address, None, data, "bytes", small.words())
    expect(sorted(answers.values()) == [0, 0, errno.ENOSPC], f"{done}")
