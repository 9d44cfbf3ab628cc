"""A writer with a key sends nothing to a process that cannot prove to be the node. The same holds
for a writer whose node is on another machine or another user's. The hello of the fake node does not
matter."""
import os
import socket
import struct
import threading

from network import (ANSWER, BY_LOOPBACK, HEADER, PUSH, Content, Nodes, Stranger, expect, make_key, push,
                     receive, welcome)

NOBODY = 65534


class FakeNode:
    """Offers no proof, welcomes everybody and says that all is well. Counts the bytes after the welcome."""
    def __init__(self, host="127.0.0.1", user=None):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        port = self._listener.getsockname()[1]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.bytes = 0
        self._thread = threading.Thread(target=self._serve, args=(user,), daemon=True)
        self._thread.start()

    def join(self):
        self._thread.join(30)
        expect(not self._thread.is_alive(), "the writer has gone")
        self._listener.close()

    def _serve(self, user):
        if user is not None:  # of this thread only: whoever accepts is the socket's owner
            import ctypes
            ctypes.CDLL(None, use_errno=True).setfsuid(user)
        self._socket = self._listener.accept()[0]
        key = welcome(self._socket, b"", BY_LOOPBACK)
        if key is None:
            return
        answers = 0
        while (header := self._take(struct.calcsize(HEADER))) is not None:
            kind, _, length, request, content, _, _ = struct.unpack(HEADER, header)
            rest = self._take(length + 32 + content)
            self.bytes += len(header) + len(rest or b"")
            if kind != PUSH and rest is not None:
                answer = struct.pack(HEADER, ANSWER, 0, 0, request, 0, 0, 0)
                mac = Stranger._mac(key, struct.pack("<Q", answers) + answer)
                self._socket.sendall(answer + mac)
                answers += 1

    def _take(self, size):
        return receive(self._socket, size)


def other_addresses():
    """Of this machine: none is loopback, so they count as another one's."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            return [probe.getsockname()[0]]
    except OSError:
        return []


with Nodes(1) as nodes:
    data = nodes.dataset(frames=0)
    key = make_key(nodes)
    content = Content(nodes, {"f1": 1000, "f2": 5})

    def sent(fake, with_key=None):
        answers, done = push(nodes, fake.address, with_key, data, "bytes", content.words())
        fake.join()
        return fake.bytes, answers, done

    got, answers, done = sent(FakeNode())  # nothing to prove: it is the same user's
    expect(got > 1005 and answers == {"f1": 0, "f2": 0}, f"the fake speaks the protocol: {done}")
    cases = [("a key", FakeNode(), key)]
    cases += [(host, FakeNode(host), None) for host in other_addresses()]
    if os.geteuid() == 0:
        cases.append(("another user's", FakeNode(user=NOBODY), None))
    for what, fake, with_key in cases:
        got, answers, done = sent(fake, with_key)
        expect(got == 0 and answers == {} and done.status == 3, f"{what}: {got} bytes, {done}")
        expect("key_file" in done.stderr, f"{what}: {done}")
