"""Prints what a hostile client costs the others: the 99th percentile of a guest's round trip with
each attack, as a multiple of the same without. A figure for docs/performance.md, no test.

    ZAZEN_BUILD=build/release python3 tests/hostile/measure_latency.py [ROUNDS]
"""
import os
import select
import sys
import time

from siege import FILL, LIST, SAMPLE, STATUS, Siege, for_ever, frame_packet, packet


def hold_connections(siege):
    held = [siege.connect() for _ in range(2500)]
    siege.ready()
    for_ever()
    del held


def come_and_go(siege):
    siege.ready()
    while True:
        siege.connect().close()


def send_garbage(siege):
    siege.ready()
    while True:
        with siege.connect() as client:
            client.send(b"garbage")


def never_read(siege):
    deaf = [siege.connect() for _ in range(100)]
    for client in deaf:
        client.setblocking(False)
    siege.ready()
    while True:
        for client in select.select([], deaf, [], 1)[1]:
            try:
                client.send(frame_packet(LIST, ""))
            except OSError:
                pass


def percentile_99_ms(siege, message, rounds, file=None):
    times = []
    for _ in range(rounds):
        fds = [os.open(file, os.O_RDONLY)] if file else []
        begin = time.perf_counter()
        siege.ask(message, fds)
        times.append(time.perf_counter() - begin)
        for fd in fds:
            os.close(fd)
    return sorted(times)[len(times) * 99 // 100] * 1000


def figures(siege, rounds):
    return {"status": percentile_99_ms(siege, packet(STATUS), rounds),
            "sample": percentile_99_ms(siege, frame_packet(SAMPLE, siege.data.path), rounds),
            "fill": percentile_99_ms(siege, frame_packet(FILL, siege.data.path, "f1"), rounds,
                                     siege.data.file("f1"))}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    attacks = {"10,000 connections": (hold_connections, 4), "come and go": (come_and_go, 1),
               "garbage": (send_garbage, 1), "100 never read": (never_read, 1)}
    for name, (attacker, count) in attacks.items():
        with Siege() as siege:
            calm = figures(siege, rounds)
            siege.attack(attacker, count)
            attacked = figures(siege, rounds)
        print(f"{name:20}" + "".join(
            f"  {what} p99 {calm[what]:.2f} -> {attacked[what]:.2f} ms ({attacked[what] / calm[what]:.1f}x)"
            for what in calm), flush=True)


if __name__ == "__main__":
    main()
