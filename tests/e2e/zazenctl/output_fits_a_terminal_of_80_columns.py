"""The output of zazenctl fits a terminal (tmux) of 80 columns. The terminal breaks no line, a long path loses
its middle in tables, and the progress of a command stays on one line. A pipe gets whole lines."""
import os
import shlex
import subprocess

from nodes import ZAZENCTL, Nodes, skip
from processes import expect, run, wait_until

COLUMNS = 80
END = "-- status "
# Longer than any terminal, as paths on clusters are.
LONG = "projects/molecular-biophysics/membrane-proteins/simulations-of-this-year/run-0007/trajectory"


class Terminal:
    def __init__(self, nodes):
        self._tmux = ["tmux", "-S", nodes.path("tmux"), "-f", "/dev/null"]
        self._env = dict(nodes.env, TERM="xterm", SHELL="/bin/sh")
        self.call("new-session", "-d", "-x", str(COLUMNS), "-y", "50", "sleep 1000")
        self.call("set-option", "-g", "remain-on-exit", "on")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("kill-server")

    def call(self, *words):
        return run([*self._tmux, *words], self._env).succeeded().stdout

    def screen(self):
        """The lines of the screen and before it; one that the terminal has broken is one line."""
        return self.call("capture-pane", "-p", "-J", "-S", "-").rstrip("\n").split("\n")

    def start(self, command):
        self.call("clear-history")
        self.call("respawn-pane", "-k", f"sh -c {shlex.quote(command)}")

    def lines_of(self, argv):
        """All that a command prints."""
        self.start(f"{shlex.join(argv)}; echo '{END}'$?; exec sleep 1000")
        wait_until(lambda: any(line.startswith(END) for line in self.screen()), f"the end of {argv}")
        lines = self.screen()
        return lines[:[line.startswith(END) for line in lines].index(True)]

    def status_of(self, argv):
        self.lines_of(argv)
        line = [line for line in self.screen() if line.startswith(END)][0]
        return int(line.removeprefix(END))

    def drawn_by(self, argv, record):
        """What a command wrote to the terminal, byte by byte."""
        self.call("pipe-pane", f"cat > {shlex.quote(record)}")
        lines = self.lines_of(argv)
        self.call("pipe-pane")

        def whole():
            with open(record, "rb") as file:
                return END.encode() in file.read()
        wait_until(whole, "the record of the terminal")
        with open(record, "rb") as file:
            return lines, file.read().decode().split(END)[0]


def expect_to_fit(what, lines):
    """But for a line that is a path, whole, so that it can be copied."""
    for line in lines:
        expect(len(line) <= COLUMNS or len(line.split()) == 1, f"{what}: {len(line)} columns: {line}")


if subprocess.run(["tmux", "-V"], capture_output=True).returncode != 0:
    skip("no tmux")

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=40)
    far = nodes.dataset(frames=300, name=LONG, sizes=(65_536,), ordinary=False)
    expect(len(far.path) > COLUMNS, "a path that fits no line")
    nodes.start()
    ctl = [ZAZENCTL, "--config", os.path.relpath(node.config)]

    with Terminal(nodes) as terminal:
        # Progress first: the frames are not there yet.
        lines, raw = terminal.drawn_by([*ctl, "push", far.path], nodes.path("record"))
        drawings = [part.split("\x1b[K")[0] for part in raw.split("\r") if "%" in part]
        expect(drawings and all(len(part) < COLUMNS for part in drawings), f"one line each: {drawings[:3]}")
        expect(all("push " in part and "..." in part for part in drawings), f"by its path: {drawings[:3]}")
        expect(not any("%" in line for line in lines), f"nothing of it stays: {lines}")
        expect(any(line.startswith("pushed 300 frames") for line in lines), f"the result: {lines}")
        # Nothing to do is no division by nothing.
        for words in (["push", far.path], ["verify", data.path]):
            expect(terminal.status_of([*ctl, *words]) == 0, f"{words} with nothing to do")

        for words in (["status"], ["ls"], ["ls", far.path, "-l"], ["top", "--once", "--interval", "100ms"]):
            lines = terminal.lines_of([*ctl, *words])
            expect_to_fit(words, lines)
            if words[0] != "ls" or len(words) == 1:
                expect(any("..." in line and "trajectory" in line for line in lines), f"{words}: {lines}")

        run([*ctl, "run", "--", "cat", *(data.file(name) for name in sorted(data.frames))], nodes.env).succeeded()
        node.wait_for_copies(data, data.frames)
        frame = data.file("f7")
        for words in ([], ["--help"], ["help", "run"], ["push", "--help"], ["verify", data.path],
                      ["explain", frame, data.path, "/etc/passwd"], ["doctor"], ["doctor", "cat"],
                      ["report"], ["report", "last"], ["pin", data.path], ["evict", data.path, "--dry-run"],
                      ["unpin", data.path], ["warm", data.path], ["evict", "/nowhere"], ["ls", data.path],
                      ["run", "--verbose", "--", "wc", "-c", frame], ["status", "-x"], ["stats"]):
            expect_to_fit(words, terminal.lines_of([*ctl, *words]))

    piped = node.ctl("status").succeeded().stdout
    expect(far.path in piped, f"a pipe gets the whole path: {piped}")
