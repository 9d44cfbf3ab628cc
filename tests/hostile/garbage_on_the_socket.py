"""Garbage, messages that are nearly right, too long, or name what is not ours: refused, each one,
and nothing but the connection that sent them is closed."""
import errno
import os
import random

from siege import (EVICT, FILL, INVALIDATE, KEEP_LISTING, LARGEST, LIST, PUSH, SAMPLE, STATUS, Siege,
                   expect, frame_packet, packet)


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
    path, held = siege.data.path, siege.node.copies(siege.data)
    for garbage in (b"x", b"nonsense" * 4, bytes(LARGEST), bytes(LARGEST + 1), b"\xff" * 60_000,
                    packet(STATUS, b"body"), packet(100), packet(77), packet(FILL),
                    frame_packet(FILL, path, ""), frame_packet(FILL, "", "f1"),
                    frame_packet(LIST, path, "f1"), frame_packet(INVALIDATE, path, b"f\0001"),
                    frame_packet(SAMPLE, b"/sim\0"), frame_packet(SAMPLE, "relative")):
        expect(siege.ask(garbage) is None, f"{garbage[:60]!r} was answered")

    refusals = {
        "/": errno.ENOENT, "/etc": errno.ENOENT, path + "/": errno.ENOENT,
        path + "/..": errno.ENOENT, path + "/../sim1": errno.ENOENT, "/../" + path: errno.ENOENT,
        os.path.dirname(path): errno.ENOENT, path.upper(): errno.ENOENT, "/" + "x" * 1022: errno.ENOENT,
    }
    fd = os.open(siege.data.file("f1"), os.O_RDONLY)
    for dataset, status in refusals.items():
        for kind in (FILL, PUSH, INVALIDATE):
            expect(siege.ask(frame_packet(kind, dataset, "f1"), [fd]) == status, f"{kind} {dataset}")
        for kind in (SAMPLE, LIST, KEEP_LISTING):
            expect(siege.ask(frame_packet(kind, dataset), [fd]) == status, f"{kind} {dataset}")
    for name in ("../f1", "/f1", "f1/", "./f1", "f01", "f1\n", "f1/../f2", ".zazen/native.seq", "f-1",
                 "f18446744073709551616", "f" + "1" * 7000):
        for kind in (FILL, PUSH, INVALIDATE):
            expect(siege.ask(frame_packet(kind, path, name), [fd]) == errno.EINVAL, f"{kind} {name}")
    expect(siege.ask(frame_packet(KEEP_LISTING, path), [fd]) == errno.EINVAL, "a file as a listing")
    os.close(fd)

    # With a fixed seed: what fails once fails again. Evictions that are still right are left out.
    chance = random.Random(4)
    honest = [packet(STATUS), frame_packet(LIST, path), frame_packet(SAMPLE, path),
              frame_packet(FILL, path, "f3"), frame_packet(PUSH, path, "f4"),
              frame_packet(KEEP_LISTING, path), packet(EVICT, bytes(20) + b"\5\0\0\0/sim1")]
    for _ in range(3000):
        with siege.connect() as client:
            try:
                for _ in range(3):
                    client.send(spoil(chance.choice(honest), chance))
            except OSError:
                pass
    siege.guests(5)
    expect(siege.node.copies(siege.data) == held, "garbage changed what is held")
