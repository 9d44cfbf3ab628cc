"""cp -a, rsync -aX and tar --xattrs copy a frame with the attributes that it has at the origin, and
none of ours. getfattr shows the same."""
import os
import shutil

from node import FRAMES, Node, expect

WAYS = {
    "cp -a": 'cp -a "$0/." "$1"',
    "rsync -aX": 'rsync -aX "$0/" "$1"',
    "tar --xattrs": 'tar --xattrs --xattrs-include="*" -C "$0" -cf - . | '
                    'tar --xattrs --xattrs-include="*" -C "$1" -xf -',
    "getfattr": 'cd "$0" && getfattr -d -m - f* > "$1/list"',
    # By a descriptor, not by a path: the frame is the shell's standard input.
    "getfattr of a descriptor": 'for f in "$0"/f?; do getfattr --absolute-names -d -m - /dev/stdin '
                                '< "$f"; done > "$1/list"',
    "readlink": 'for f in "$0"/f?; do readlink -f /dev/stdin < "$f"; done > "$1/list"',
}


def contents(directory):
    """Of each file: mode, time, attributes, bytes."""
    found = {}
    for top, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(top, name)
            st = os.lstat(path)
            attributes = {a: os.getxattr(path, a, follow_symlinks=False)
                          for a in os.listxattr(path, follow_symlinks=False)}
            data = None if os.path.islink(path) else open(path, "rb").read()
            mtime = None if name == "list" or data is None else st.st_mtime_ns
            found[os.path.relpath(path, directory)] = (oct(st.st_mode), mtime, attributes, data)
    return found


def copy(node, script, environment):
    target = node.root / "target"
    target.mkdir()
    done = node.run(["sh", "-c", script, node.dataset, target], environment)
    expect(done.returncode == 0, f"{script}: {done}")
    result = contents(target), done.stdout, done.stderr
    shutil.rmtree(target)
    return result


with Node(options='validate = "never"\n') as node:
    for seq in range(0, FRAMES, 3):
        os.setxattr(node.frame(seq), "user.note", b"the origin's")
    node.start_daemon()
    node.warm()
    expect("user.zazen" in os.listxattr(node.copy_of(node.frame(3))), "nothing to hide: no test")
    for way, script in WAYS.items():
        plain = copy(node, script, {})
        node.report.unlink(missing_ok=True)
        shim = copy(node, script, node.shim(ZAZEN_REPORT=str(node.report)))
        for name in plain[0].keys() | shim[0].keys():
            expect(plain[0].get(name) == shim[0].get(name),
                   f"{way}: {name}\n  without: {plain[0].get(name)}\n  with: {shim[0].get(name)}")
        expect(plain == shim, f"{way}: {plain[1:]} {shim[1:]}")
        if way in ("cp -a", "rsync -aX"):
            expect(node.read_report()["hits"] > 0, f"{way}: no copy was read: no test")
