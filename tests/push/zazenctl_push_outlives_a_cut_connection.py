"""zazenctl push to a single node goes on if its connection is cut before any answer. If the node
hangs up each time, the push ends soon, and says so."""
import itertools
import json
import socket
import struct
import threading
import time

from network import Nodes, expect, free_port, listen, make_key, natives

FRAMES, SIZE, CUT_AT = 30, 50_000, 10_000
MUCH_TOO_LONG = 40  # seconds; the machine may be busy


class CuttingProxy:
    """Resets those connections, by their numbers, that `cuts` picks, after CUT_AT of the writer's bytes."""
    def __init__(self, address, cuts, port):
        self._to, self._cuts = address.rsplit(":", 1), cuts
        self._listener = socket.create_server(("127.0.0.1", port))
        self.address = f"127.0.0.1:{port}"
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        for number in itertools.count(1):
            writer, _ = self._listener.accept()
            self.connections = number
            daemon = socket.create_connection(self._to)
            limit = CUT_AT if self._cuts(number) else None
            for one, other, most in ((writer, daemon, limit), (daemon, writer, None)):
                threading.Thread(target=self._pass_on, args=(one, other, most), daemon=True).start()

    @staticmethod
    def _pass_on(one, other, most):
        passed = 0
        try:
            while data := one.recv(65536):
                passed += len(data)
                if most is not None and passed > most:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
    key = make_key(nodes)
    ports = free_port(), free_port()
    listen(node, [data], key, f'known_as = {json.dumps([f"127.0.0.1:{port}" for port in ports])}\n')

    # The first connection asks what is there.
    dead = CuttingProxy(node.address, lambda number: number > 1, ports[0])
    began = time.monotonic()
    done = node.ctl("push", data.path, "--json", "--to", dead.address, seconds=100)
    expect(time.monotonic() - began < MUCH_TOO_LONG, "it tries for too long")
    expect(done.status == 1, f"{done}")
    figures = json.loads(done.stdout)
    expect(figures["failed"] == FRAMES and not figures["nodes"][0]["reachable"], f"{figures}")
    expect(dead.connections > 2, f"it was tried {dead.connections - 1} times")
    expect(natives(nodes, node.address, key, data) == [], "nothing has arrived")

    once = CuttingProxy(node.address, lambda number: number == 2, ports[1])
    done = node.ctl("push", data.path, "--json", "--to", once.address, seconds=100).succeeded()
    figures = json.loads(done.stdout)
    expect(figures["pushed"] == FRAMES and figures["failed"] == 0, f"{figures}")
    expect("passed over" in done.stderr and "tried again" in done.stderr, done.stderr)
    expect(natives(nodes, node.address, key, data) == list(range(FRAMES)), "all are there")
