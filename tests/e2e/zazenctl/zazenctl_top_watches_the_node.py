"""top: shows figures by interval, on a terminal and off it, and survives the end and return of the
daemon."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from nodes import ZAZENCTL, Nodes
from processes import Process, expect, wait_until

LIMIT_SECONDS = 30


class Terminal:
    """zazenctl top on a terminal of 12 lines."""

    def __init__(self, node, env):
        self._end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 70, 0, 0))
        self.modes = termios.tcgetattr(theirs)
        self._theirs = theirs
        self._popen = subprocess.Popen(
            [ZAZENCTL, "--config", node.config, "top", "--interval", "100ms"],
            env=dict(env, TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.text = ""

    def wait_for(self, words):
        give_up = time.monotonic() + LIMIT_SECONDS
        while words not in self.text:
            expect(time.monotonic() < give_up, f"no {words!r} in {self.text[-2000:]!r}")
            if select.select([self._end], [], [], 0.1)[0]:
                self.text += os.read(self._end, 65536).decode()
        self.text = self.text[self.text.index(words):]

    def press(self, key):
        os.write(self._end, key)
        self.wait_for("\x1b[?1049l")
        status = self._popen.wait(LIMIT_SECONDS)
        modes = termios.tcgetattr(self._theirs)
        os.close(self._theirs)
        os.close(self._end)
        expect(modes == self.modes, "the terminal is as it was")
        return status


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=20, ordinary=False)
    idle = nodes.dataset(frames=1, name="a", ordinary=False)
    nodes.start()
    top = [ZAZENCTL, "--config", node.config, "top", "--interval", "100ms"]

    done = node.ctl("top", "--once", "--interval", "100ms").succeeded()
    expect("on n0: healthy" in done.stdout and "DATASET" in done.stdout, f"{done}")

    # Every open is counted in some interval, once.
    output = nodes.path("top.json")
    with open(output, "w") as file:
        watching = subprocess.Popen([*top, "--json"], env=nodes.env, stdout=file)

    def rows():
        return [json.loads(line) for line in open(output).read().splitlines()]
    wait_until(rows, "the first interval")
    for _ in range(2):
        nodes.warm(node, data, data.frames)
    wait_until(lambda: sum(row["hits"] for row in rows()) >= 20 and
               sum(row["fills"] for row in rows()) >= 20, "the hits and the fills")
    node.stop()
    wait_until(lambda: not rows()[-1]["answers"], "the daemon's end")
    node.start()
    wait_until(lambda: rows()[-1]["answers"], "the daemon's return")
    watching.send_signal(signal.SIGINT)
    expect(watching.wait(LIMIT_SECONDS) == 0, "^C ends it")
    first_life = [row for row in rows()[:-1] if row["answers"] and not row["since_start"]]
    expect(sum(row["misses"] for row in first_life) == 20, f"{rows()}")
    expect(sum(row["hits"] for row in first_life) == 20, f"{rows()}")
    busy = next(row for row in first_life if row["hits"])
    expect(busy["datasets"][0]["path"] == data.path, f"the busiest first: {busy}")
    expect(sum(row["copied_bytes"] for row in first_life) == data.bytes_of(data.frames),
           f"{rows()}")
    expect(rows()[-1]["fills_under_way"] == 0, f"{rows()[-1]}")

    # A terminal: drawn again, q ends it, lines fit.
    terminal = Terminal(node, nodes.env)
    terminal.wait_for("(since it started)")
    terminal.wait_for("(in 0.")
    node.stop()
    terminal.wait_for("no daemon answers")
    expect(terminal.press(b"q") == 0, "q")
    node.start()
    terminal = Terminal(node, nodes.env)
    terminal.wait_for("DATASET")
    expect(terminal.press(b"\x03") == 0, "^C")

    # Without a terminal: blocks.
    process = Process(top, nodes.env)
    path = f"/proc/{os.getpid()}/fd/{process._stdout.fileno()}"
    wait_until(lambda: open(path).read().count("DATASET") >= 2, "two blocks")
    process.signal(signal.SIGTERM)
    expect(process.finish().status == 0, "SIGTERM ends it")

    node.stop()
    done = node.ctl("top", "--once")
    expect(done.status == 3 and "no daemon answers" in done.stderr, f"{done}")
    done = node.ctl("top", "--once", "--json")
    expect(done.status == 3 and not json.loads(done.stdout)["answers"], f"{done}")
    for words in (("--interval", "x"), ("--interval", "1ms"), ("more",)):
        expect(node.ctl("top", *words).status == 2, f"wrong usage: {words}")
