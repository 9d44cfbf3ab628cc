"""Clients ask without end for status, lists and samples, and read no answer."""
import select

from siege import LIST, SAMPLE, STATUS, Siege, for_ever, frame_packet, packet


def ask_without_reading(message):
    def attacker(siege):
        deaf = [siege.connect() for _ in range(20)]
        for client in deaf:
            client.setblocking(False)
        sent = 0
        while sent < 10_000 and select.select([], deaf, [], 1)[1]:
            for client in deaf:
                try:
                    client.send(message(siege))
                    sent += 1
                except BlockingIOError:
                    pass
        siege.ready()
        for_ever()
    return attacker


with Siege() as siege:
    siege.attack(ask_without_reading(lambda siege: packet(STATUS)))
    siege.attack(ask_without_reading(lambda siege: frame_packet(LIST, "")))
    siege.attack(ask_without_reading(lambda siege: frame_packet(SAMPLE, siege.data.path)))
    siege.guests(30)
    # 60 clients that do not read: the kernel charges them for the unread data; the daemon has a few descriptors.
    allowed = siege.before[0] + 60 * 5
    if siege.open_descriptors() > allowed:
        raise AssertionError(f"{siege.open_descriptors()} descriptors are open")
