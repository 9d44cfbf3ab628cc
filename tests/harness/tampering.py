"""A proxy in front of a daemon that records a session, or changes, cuts or repeats it."""
import socket
import threading


class Proxy:
    def __init__(self, address, change=None, limit=None, port=0):
        """`change(offset, bytes)` returns what is sent on of the writer's bytes; after `limit` of
        them the connection is cut. A node takes sessions that come this way if it is known as `port`."""
        self._to = address
        self._change, self._limit = change, limit
        self._listener = socket.create_server(("127.0.0.1", port))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.from_writer, self.from_daemon = bytearray(), bytearray()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()
        self._thread.join(30)

    def _serve(self):
        try:
            writer, _ = self._listener.accept()
        except OSError:
            return
        host, port = self._to.rsplit(":", 1)
        daemon = socket.create_connection((host, int(port)))
        back = threading.Thread(target=self._back, args=(daemon, writer), daemon=True)
        back.start()
        while True:
            try:
                data = writer.recv(65536)
            except OSError:
                break
            if not data:
                break
            at = len(self.from_writer)
            self.from_writer += data
            if self._limit is not None and at + len(data) >= self._limit:
                try:
                    daemon.sendall(data[:self._limit - at])
                except OSError:
                    pass
                break
            try:
                daemon.sendall(self._change(at, data) if self._change else data)
            except OSError:
                break
        for one in (daemon, writer):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        back.join(30)
        daemon.close()
        writer.close()

    def _back(self, daemon, writer):
        while True:
            try:
                data = daemon.recv(65536)
                if not data:
                    break
                self.from_daemon += data
                writer.sendall(data)
            except OSError:
                break
        try:
            writer.shutdown(socket.SHUT_WR)
        except OSError:
            pass
