"""Garbage and messages that are nearly right, too long, or name other files are refused. Only the
connection that sent them is closed."""
import errno
import os
import random

from siege import (FILL, INVALIDATE, KEEP_LISTING, LARGEST, LIST, MESSAGES, REQUESTS, SAMPLE, STATUS, WAIT, Siege,
                   descriptors, example, expect, for_ever, frame_packet, names_dataset, packet)


def spoil(message, chance):
    """Some bytes changed, cut off or added."""
    bytes_ = bytearray(message)
    for _ in range(chance.randint(1, 4)):
        bytes_[chance.randrange(len(bytes_))] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
    if chance.random() < 0.3:
        bytes_ = bytes_[:chance.randrange(1, len(bytes_) + 1)]
    if chance.random() < 0.2:
        bytes_ += chance.randbytes(chance.randrange(1, LARGEST + 100))
    return bytes(bytes_)


with Siege() as siege:
    # A reload is one of the messages, and zazend keeps the tables of the last ones.
    for _ in range(9):
        siege.node.ctl("reload").succeeded()
    siege.before = siege.open_descriptors(), siege.before[1]
    path, held = siege.data.path, siege.node.copies(siege.data)
    for garbage in (b"x", b"nonsense" * 4, bytes(LARGEST), bytes(LARGEST + 1), b"\xff" * 60_000,
                    packet(STATUS, b"body"), packet(100), packet(77), packet(FILL),
                    frame_packet(FILL, path, ""), frame_packet(FILL, "", "f1"),
                    frame_packet(LIST, path, "f1"), frame_packet(INVALIDATE, path, b"f\0001"),
                    frame_packet(SAMPLE, b"/sim\0"), frame_packet(SAMPLE, "relative")):
        expect(siege.ask(garbage) is None, f"{garbage[:60]!r} was answered")
    for kind in set(range(300)) - {row.type for row in MESSAGES}:
        expect(siege.ask(packet(kind)) is None, f"{kind} is a message")

    fd = os.open(siege.data.file("f1"), os.O_RDONLY)
    passed = {row.name: [fd] if row.descriptor == "one" else [] for row in REQUESTS}
    for row in REQUESTS:
        for flag in (1 << bit for bit in range(32) if not row.flags >> bit & 1):
            message = example(row, path, "f1", WAIT | flag)
            expect(siege.ask(message, passed[row.name]) is None, f"{row.name} came with the flag {flag}")
        if row.body not in ("none", "notice"):
            expect(siege.ask(packet(row.type), passed[row.name]) is None, f"{row.name} came without a body")

    refusals = {
        "/": errno.ENOENT, "/etc": errno.ENOENT, path + "/": errno.ENOENT,
        path + "/..": errno.ENOENT, path + "/../sim1": errno.ENOENT, "/../" + path: errno.ENOENT,
        os.path.dirname(path): errno.ENOENT, path.upper(): errno.ENOENT, "/" + "x" * 1022: errno.ENOENT,
    }
    for row in filter(names_dataset, REQUESTS):
        for dataset, status in refusals.items():
            found = siege.ask(example(row, dataset, "f1"), passed[row.name])
            expect(found == status, f"{row.name} {dataset} got {found}")
    for name in ("../f1", "/f1", "f1/", "./f1", "f01", "f1\n", "f1/../f2", ".zazen/native.seq", "f-1",
                 "f18446744073709551616", "f" + "1" * 7000):
        for row in (row for row in REQUESTS if row.body == "frame"):
            found = siege.ask(example(row, path, name), passed[row.name])
            expect(found == errno.EINVAL, f"{row.name} {name} got {found}")
    expect(siege.ask(frame_packet(KEEP_LISTING, path), [fd]) == errno.EINVAL, "a file as a listing")

    # With a fixed seed: what fails once fails again. A message may still be right when it was spoilt: those
    # that drop copies, or bring content of their own, name another dataset.
    chance = random.Random(4)
    harmless = [row.sender == "anybody" and not row.removed_too for row in REQUESTS]
    honest = [(example(row, path if safe else "/sim1", "f1"), passed[row.name])
              for row, safe in zip(REQUESTS, harmless)]

    def send_spoilt(attacker):
        for _ in range(3000):
            with attacker.connect() as client:
                try:
                    for _ in range(3):
                        message, fds = chance.choice(honest)
                        client.sendmsg([spoil(message, chance)], descriptors(fds) if fds else [])
                except OSError:
                    pass
        attacker.ready()
        for_ever()

    # Not by the guests' process: a connection that breaks the rules takes those of its process with it.
    siege.attack(send_spoilt)
    os.close(fd)
    siege.guests(5)
    expect(siege.node.copies(siege.data) == held, "garbage changed what is held")
