"""Clients connect and close, connect and send, connect and vanish, without a pause. zazend serves the
others, and keeps no descriptor of a connection that has ended."""
from siege import STATUS, Siege, expect, frame_packet, packet, SAMPLE


def come_and_go(siege):
    siege.ready()
    while True:
        for message in (None, packet(STATUS), frame_packet(SAMPLE, siege.data.path), b"x"):
            try:
                with siege.connect() as client:
                    if message:
                        client.send(message)
            except OSError:
                pass


with Siege() as siege:
    siege.attack(come_and_go, count=2)
    allowed = siege.before[0] + 100  # an attacker has one connection at a time
    for _ in range(30):
        siege.guests(1)
        expect(siege.open_descriptors() < allowed, f"zazend has {siege.open_descriptors()} descriptors")
