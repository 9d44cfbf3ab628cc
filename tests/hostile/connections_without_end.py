"""Clients connect and close, connect and send, connect and vanish, without a pause."""
from siege import STATUS, Siege, frame_packet, packet, SAMPLE


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
    siege.guests(30)
