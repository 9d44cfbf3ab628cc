"""A rank's view, made by hand, and programs that run in it."""
import json
import subprocess
import tempfile

from node import FRAMES, PROGRAMS, expect

OWN = [2, 3, 7, 11]


class View:
    """OWN frames (numbers, or "A..B") of those from 0 to LAST."""

    def __init__(self, node, own=OWN, last=FRAMES - 1):
        self.node = node
        self.own = own
        self.last = last
        self.directory = tempfile.mkdtemp(dir=node.root)

    def command(self, *program):
        return [PROGRAMS / "view_tool", "run", self.directory, self.node.dataset,
                self.node.template, self.last, *self.own, "--", *program]

    def tally(self):
        out = subprocess.run([PROGRAMS / "view_tool", "tally", self.directory],
                             capture_output=True, check=True)
        return json.loads(out.stdout)


def run(node, view, *program):
    done = node.run(view.command(*program), node.shim())
    expect(done.returncode == 0, f"{program}: {done}")
    return done.stdout.decode(errors="replace")
