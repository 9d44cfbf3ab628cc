"""A running `zazenctl serve`, and plain requests to it."""
import http.client
import json
import signal
from urllib.parse import urlsplit

from nodes import ZAZENCTL
from processes import Process, expect, wait_until


class Served:
    def __init__(self, node, env, *words):
        self._process = Process([ZAZENCTL, "--config", node.config, "serve", "--json", *words], env)
        try:
            wait_until(lambda: self._said() or not self._process.running(), "zazenctl serve to say where")
            self.url = json.loads(self._said())["url"]
        except BaseException:
            self._process.kill_session()
            raise
        self.parts = urlsplit(self.url)

    def _said(self):
        text = self._process.stdout_so_far()
        return text if text.endswith("}\n") else ""

    def get(self, path, method="GET", **headers):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=30)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def interrupt(self):
        self._process.signal(signal.SIGINT)
        done = self._process.finish(20)
        expect(done.status == 0 and done.stderr == "", f"{done}")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._process.kill_session()
