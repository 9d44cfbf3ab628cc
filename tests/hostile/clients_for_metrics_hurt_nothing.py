"""Programs of this machine that ask for metrics, or for nothing, in wrong ways: 500 connections
that say nothing, a header of 1 MB, bytes without an end of line, answers that nobody reads. Others
still get the metrics, nobody loses a hit, and the process that serves them stays small. It has the
rights of nobody, and zazend starts another one when it is killed."""
import os
import signal
import socket
import threading
import urllib.request

from network import free_port
from nodes import skip
from people import ALICE, SystemNode
from processes import expect, wait_until
from workers import Workers, descriptors_of, private_kilobytes, status_of

NOBODY = 65_534
MOST_DESCRIPTORS, MOST_KILOBYTES = 128, 60_000

if os.geteuid() != 0:
    skip("only root can serve all users")

with SystemNode() as node:
    port = free_port()
    data = node.dataset(3, sizes=(5000,))
    node.node.configure([data], f'users = "all"\nmetrics = "127.0.0.1:{port}"\n')
    node.node.start()
    files = [data.file(name) for name in sorted(data.frames)]
    node.read(ALICE, files)
    node.wait_for_copies(data, data.frames)
    workers = Workers(node.node.pid())

    def metrics():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        expect("zazen_healthy{" in text and data.path in text, text)

    def connect():
        made = socket.create_connection(("127.0.0.1", port), timeout=60)
        return made

    metrics()
    found = workers.of_uid(NOBODY)
    expect(len(found) == 1, f"workers of nobody: {found}")
    server = found[0]
    expect(int(status_of(server)["CapEff"], 16) in (0, 1 << 28), f"capabilities: {status_of(server)}")

    def check(what):
        metrics()
        node.check(ALICE, files, what)
        expect(workers.of_uid(NOBODY) == [server], f"{what}: the server has ended")
        count, size = descriptors_of(server), private_kilobytes(server)
        expect(count < MOST_DESCRIPTORS and size < MOST_KILOBYTES, f"{what}: {count} descriptors, {size} kB")
        expect(descriptors_of(node.node.pid()) < MOST_DESCRIPTORS, f"{what}: descriptors of zazend")

    # Silent ones: each new connection takes the place of the oldest.
    silent = [connect() for _ in range(500)]
    check("500 silent connections")
    for one in silent:
        one.close()

    # A header without an end: refused, or cut off, before it is whole.
    for begin in (b"GET /metrics HTTP/1.1\r\nX: ", b"GET /", b"", b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 9_000):
        with connect() as one:
            try:
                for _ in range(256):
                    one.sendall(begin[:4096] + b"x" * 4096)
                    begin = b""
                answer = one.recv(4096)
            except (ConnectionError, BrokenPipeError):
                answer = b""
            expect(answer == b"" or answer.split()[1] in (b"400", b"431"), f"{answer[:200]}")
    check("headers of 1 MB")

    # Nonsense, half requests, other methods, another host.
    for request, status in ((b"\0\xff\r\n\r\n", b"400"), (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"405"),
                            (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403")):
        with connect() as one:
            one.sendall(request)
            answer = one.recv(4096)
            expect(answer.split()[1] == status, f"{request}: {answer}")
    halves = [connect() for _ in range(70)]
    for one in halves:
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")
    check("half requests")

    # Answers that nobody reads.
    deaf = [connect() for _ in range(70)]
    for one in deaf:
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
        except ConnectionError:
            pass
    check("answers that nobody reads")

    # Many at once: zazend is asked once a second.
    def ask_often():
        for _ in range(50):
            metrics()
    threads = [threading.Thread(target=ask_often) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    check("400 requests")

    os.kill(server, signal.SIGKILL)
    wait_until(lambda: workers.of_uid(NOBODY) not in ([], [server]), "another server")
    metrics()
    for one in halves + deaf:
        one.close()
