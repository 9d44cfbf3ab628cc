"""A process with a view lists only its own frames, by every call and in every child, and its opens
are counted. The daemon may die. The rank that owns the view removes it at its end."""
import os
import shutil
import signal
import tempfile

from node import PROGRAMS, Node, expect
from rank_view import OWN, View, run

OWN_NAMES = [".", "..", "f03", "f11", "f2", "f3", "f55", "f7", "notes.txt"]


def sections(text):
    """{'readdir': [names], ...} of what listings.c prints of its first directory."""
    found, name = {}, None
    for line in text.splitlines():
        if line.startswith("  ") and name is not None:
            found[name].append(line.split()[0])
        elif name := line.rpartition(": ")[0] or line.partition(" ")[0]:
            if name in found:
                break
            found[name] = []
    return found


def check_listing(node):
    found = sections(run(node, View(node), PROGRAMS / "listings", node.dataset))
    for call in ("readdir", "readdir64 after rewinddir", "readdir_r", "readdir64_r", "fdopendir"):
        expect(found[call] == OWN_NAMES, f"{call} shows {found[call]}")
    expect(found["scandir"] == ["f03", "f11", "f2", "f3", "f55", "f7"], f"scandir shows {found['scandir']}")
    text = run(node, View(node), PROGRAMS / "listings", node.dataset)
    for line in ("scandir64 6", "d_off is telldir 1", "seekdir goes back 1", "many streams 450"):
        expect(line in text, f"{line!r} is not in {text}")


def check_inodes(node):
    """Names come with the inode numbers and types that the origin's own listing has."""
    plain = node.run([PROGRAMS / "listings", node.dataset]).stdout.decode().splitlines()
    shown = run(node, View(node), PROGRAMS / "listings", node.dataset).splitlines()
    entries = [line for line in shown if line.startswith("  ")]
    expect(len(entries) > 5 * len(OWN), f"only {entries}")
    for line in entries:
        expect(line in plain, f"{line} is not the origin's")


def check_children(node):
    text = run(node, View(node), PROGRAMS / "execs", node.dataset)
    for line in text.splitlines():
        name, _, count = line.partition(": ")
        if count:
            wanted = "99" if name == "missing" else str(len(OWN_NAMES))
            expect(count == wanted, f"a child by {line}")
    for command in (["ls", "-a"], ["sh", "-c", 'ls -a "$0"'], ["find"]):
        names = run(node, View(node), *command, node.dataset).split()
        seen = sorted({name.rpartition("/")[2] for name in names} & set(f"f{i}" for i in range(99)))
        expect(seen == ["f11", "f2", "f3", "f55", "f7"], f"{command} shows {seen}")


def check_tally(node, hits, misses):
    # The owner is the shell, which is killed and so leaves its view behind for us to read.
    view = View(node)
    script = 'ls "$0" >&2; cat "$0"/f2 "$0"/f3 "$0"/f9 "$0"/f100 >&2; kill -9 $$'
    (node.dataset / "f100").write_text("arrived later\n")
    done = node.run(view.command("sh", "-c", script, node.dataset), node.shim())
    (node.dataset / "f100").unlink()
    expect(done.returncode == -signal.SIGKILL, f"{done}")
    tally = view.tally()
    expect(tally["opened"] == [2, 3, 9], f"opened {tally}")
    expect(tally["outside"] == 1 and tally["listed"] == 1, f"tally {tally}")
    expect(tally["hits"] == hits and tally["misses"] == misses, f"tally {tally}")


MOVES = """
import os, subprocess, sys
top, away = sys.argv[1], sys.argv[1] + " away"
def show(directory): print(*sorted([".", "..", *os.listdir(directory)]))
os.chdir(top)
show(".")
os.rename(top, away)
show(".")
show(away)
subprocess.run(["mv", away, top], env={}, check=True)
show(".")
show(top)
"""


def check_moves(node):
    """A dataset that cannot be reached under its name for a while is still seen as agreed."""
    lines = run(node, View(node), "/usr/bin/python3", "-c", MOVES, node.dataset).splitlines()
    expect(lines == [" ".join(OWN_NAMES)] * 5, f"a moved dataset: {lines}")


def check_reused_streams(node):
    text = run(node, View(node), PROGRAMS / "reused_streams", node.dataset, node.root / "other")
    expect(text == "opendir: f3 notes.txt\nfdopendir: f3 notes.txt\n", f"reused: {text}")


def check_removal(node):
    view = View(node)
    run(node, view, "cat", node.frame(2))
    expect(not os.path.exists(view.directory), "the owner left its view behind")
    view = View(node)
    run(node, view, "sh", "-c", 'cat "$0"; test -e "$ZAZEN_VIEW/view"', node.frame(2))


def check_damaged(node):
    directory = tempfile.mkdtemp(dir=node.root)
    for content in (b"", b"x" * 5000):
        with open(f"{directory}/view", "wb") as file:
            file.write(content)
        done = node.run(["ls", node.dataset], node.shim(ZAZEN_VIEW=directory))
        expect(done.returncode == 0 and b"f21" in done.stdout, f"a damaged view: {done}")
    shutil.rmtree(directory)


with Node() as node:
    node.start_daemon()
    node.warm()
    for check in (check_listing, check_inodes, check_children, check_moves, check_reused_streams,
                  check_removal, check_damaged):
        check(node)
    check_tally(node, hits=3, misses=1)
    node.end_daemon(signal.SIGKILL)
    check_listing(node)
    check_children(node)
    node.run(["rm", "-rf", node.root / "run"])
    check_listing(node)
    check_tally(node, hits=0, misses=4)
