"""A rank's view is the same in every way of listing: libc's calls, programs and shells.

Without a view every way shows everything, and a report counts the names. A listing that comes from
the view does not read the origin's directory.
"""
import os

from node import FRAMES, PROGRAMS, Node, expect
from rank_view import OWN, View, run

ORDINARY = ["f03", "f55", "notes.txt"]
OWN_NAMES = sorted(ORDINARY + [f"f{seq}" for seq in OWN])
ALL_NAMES = sorted(ORDINARY + ["f77"] + [f"f{seq}" for seq in range(FRAMES)])
CALLS = 22

PYTHON = """
import glob, os, pathlib, sys
top = sys.argv[1]
def show(way, names): print(way + ": " + " ".join(sorted(names)))
show("os.listdir", os.listdir(top))
show("os.scandir", [entry.name for entry in os.scandir(top)])
show("glob.glob", [os.path.basename(path) for path in glob.glob(glob.escape(top) + "/*")])
show("pathlib.iterdir", [path.name for path in pathlib.Path(top).iterdir()])
show("pathlib.glob", [path.name for path in pathlib.Path(top).glob("*")])
inside = next(os.walk(top))
show("os.walk", inside[1] + inside[2])
inside = next(os.fwalk(top, follow_symlinks=True))
show("os.fwalk", inside[1] + inside[2])
"""
PERL = 'opendir(D, $ARGV[0]); print join("\\n", sort grep !/^\\.\\.?$/, readdir D), "\\n"'
SHELL = 'cd "$0"; for name in *; do echo "$name"; done'
COMMANDS = [
    ["ls"], ["ls", "-U"], ["ls", "-f"],
    ["find", "-H", "{}", "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\\n"],
    ["bash", "-c", SHELL], ["dash", "-c", SHELL], ["perl", "-e", PERL],
    ["bash", "-c", 'ls -d "$0"/*'],
]


def check_lines(what, text, wanted, least):
    lines = text.splitlines()
    expect(len(lines) >= least, f"{what}: only {lines}")
    for line in lines:
        call, _, names = line.partition(": ")
        expect(names.split() == wanted, f"{what}: {call} shows {names[:2000]}")


def check_roads(node, below, wanted):
    """Straight, from above, through a link, and from inside."""
    directory = node.dataset / below
    roads = PROGRAMS / "listing_roads"
    inside = ["sh", "-c", 'cd "$0" && exec "$1" . ""', directory, roads]
    for way in ([roads, directory, ""], [roads, node.root, directory.relative_to(node.root)],
                [roads, node.root / "link", below], [roads, f"{node.dataset}/../link/", below],
                inside):
        check_lines(way, run(node, View(node), *way), wanted, CALLS)
    check_lines("C++", run(node, View(node), PROGRAMS / "filesystem_roads", directory), wanted, 2)


def check_programs(node, below, wanted):
    for top in (node.dataset / below, node.root / "link" / below):
        text = run(node, View(node), "/usr/bin/python3", "-c", PYTHON, top)
        check_lines("python", text, wanted, 7)
        for command in COMMANDS:
            argv = [word.replace("{}", str(top)) for word in command]
            argv += [] if "{}" in command else [top]
            names = {line.rpartition("/")[2] for line in run(node, View(node), *argv).splitlines()}
            expect(sorted(names - {".", ".."}) == wanted, f"{command} shows {sorted(names)}")


def check_tally(node):
    """Each road counts as one listing in the rank's tally."""
    script = '"$0" "$1" "" "$2" >&2; kill -9 $$'  # so that the view is left for us to read
    for call in ("readdir", "scandirat", "glob", "nftw", "fts_read", "getdents64", "getdirentries",
                 "getdents"):
        view = View(node)
        node.run(view.command("sh", "-c", script, PROGRAMS / "listing_roads", node.dataset, call),
                 node.shim())
        expect(view.tally()["listed"] == 1, f"{call}: {view.tally()}")


def check_without_view(node):
    roads = [PROGRAMS / "listing_roads", node.dataset, ""]
    plain = node.run(roads)
    check_lines("without the shim", plain.stdout.decode(), ALL_NAMES, CALLS)
    for line in plain.stdout.decode().splitlines():
        call = line.partition(":")[0]
        node.report.unlink(missing_ok=True)
        done = node.run([*roads, call], node.shim(ZAZEN_REPORT=str(node.report)))
        check_lines("without a view", done.stdout.decode(), ALL_NAMES, 1)
        listed = node.read_report()["frames_listed"]
        expect(listed == FRAMES + 1, f"{call} lists {listed} frames")  # f77 may be one


def check_origin_is_not_read(node):
    """The frames of this view are on no disk at all; not one entry was read for them."""
    first, last = 100, 200_099
    trace = node.root / "trace"
    calls = ["readdir", "readdir64_r", "scandir", "scandirat64", "glob", "nftw", "fts_read",
             "fts64_children"]
    view = View(node, own=[f"{first}..{last}"], last=last)
    text = run(node, view, "strace", "-f", "--seccomp-bpf", "-qq", "-y", "-e", "trace=getdents64",
               "-o", trace, PROGRAMS / "listing_roads", node.dataset, "", *calls)
    wanted = sorted(ORDINARY + [f"f{seq}" for seq in range(first, last + 1)])
    check_lines("a large view", text, wanted, len(calls))
    read = trace.read_text()
    expect("f55>" in read, f"strace saw nothing: {read}")  # a directory, which walks do read
    expect("sim1>" not in read, f"the origin was read: {read}")


def check_later_changes(node):
    """Names that come after the agreement are on no road; the kernel cannot show a removed name."""
    script = ('touch "$0/a later note" "$0/zz"; mkdir "$0/f500"; rm "$0/f3" "$0/notes.txt"; '
              'mkdir "$0/f3"; exec "$@"')
    calls = ["readdir", "scandir", "getdents64", "getdirentries", "getdents"]
    text = run(node, View(node), "sh", "-c", script, node.dataset, PROGRAMS / "listing_roads",
               node.dataset, "", *calls)
    lines = text.splitlines()
    expect(len(lines) == len(calls), f"{lines}")
    check_lines("after changes", "\n".join(lines[:2]), OWN_NAMES, 2)
    remaining = [name for name in OWN_NAMES if name != "notes.txt"]
    check_lines("after changes", "\n".join(lines[2:]), remaining, 3)


os.umask(0o022)
with Node() as node:
    node.start_daemon()
    node.warm()
    check_without_view(node)
    check_roads(node, "", OWN_NAMES)
    check_programs(node, "", OWN_NAMES)
    check_tally(node)
    check_origin_is_not_read(node)
    check_later_changes(node)

with Node(template="run1/{seq}/traj.dcd") as node:
    (node.dataset / "run1" / "notes.txt").write_text("a note\n")
    (node.dataset / "run1" / "100").write_text("a file, hence no frame\n")
    node.start_daemon()
    shown = sorted(["100", "notes.txt"] + [str(seq) for seq in OWN])
    check_roads(node, "run1", shown)
    check_programs(node, "run1", shown)
