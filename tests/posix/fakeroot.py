"""With fakeroot and the shim, in either order, the owners and modes that fakeroot pretends stay in
force, and frames are still read from the cache.

fakeroot keeps its data by (device, inode), which must be the origin's. Root's own chown is real, so
this test and its daemon run as nobody.
"""
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys

from node import BUILD, SHIM, Node, expect

SKIPPED = 77
SCRIPT = """
cd "$1" || exit 1
chown 1234:4321 f3 f4 notes.txt && chmod 4711 f5
stat -c '%n %u %g %a' f3 f4 f5 f6 notes.txt
ls -ln f3 f5
cat f3 f5 f6 f7 | md5sum
find . -name 'f*' -uid 1234 | sort
tar cf - f3 f5 | tar --numeric-owner -tvf -
/usr/bin/python3 -c 'import os; f = open("f3"); print(os.fstat(f.fileno()).st_uid, os.stat("f3").st_gid)'
chown 5:5 f3 && stat -c '%n %u %g' f3 && stat -c '%n %u %g' - < f3
"""


def skip(why):
    print(why)
    sys.exit(SKIPPED)


def become_nobody():
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


def run(node, order):
    setting = f'export LD_PRELOAD="{order.format(shim=SHIM)}"' if order else ":"
    return node.run(["fakeroot", "sh", "-c", f"{setting}\n{SCRIPT}", "sh", node.dataset],
                    {"ZAZEN_CONFIG": str(node.config)})


def hits(node):
    status = subprocess.run([BUILD / "tools" / "zazenctl", "status", "--json", "--config",
                             node.config], capture_output=True, text=True, check=True)
    return json.loads(status.stdout)["hits"]


if shutil.which("fakeroot") is None:
    skip("fakeroot is not installed")
if os.geteuid() == 0:
    become_nobody()
if not os.access(SHIM, os.R_OK):
    skip("nobody cannot read the build directory")
with Node() as node:
    plain = run(node, "")
    expect(b"f3 1234 4321 644" in plain.stdout, f"fakeroot itself: {plain}")
    expect(pathlib.Path(node.frame(3)).stat().st_uid == os.geteuid(), "the chown was real")
    for order in ("{shim}:$LD_PRELOAD", "$LD_PRELOAD:{shim}"):
        node.make_dataset()
        shutil.rmtree(node.cache, ignore_errors=True)
        node.start_daemon()
        node.warm()
        before = hits(node)
        done = run(node, order)
        expect((done.stdout, done.stderr) == (plain.stdout, plain.stderr),
               f"{order}\n  without: {plain.stdout.decode()}{plain.stderr.decode()}\n"
               f"  with:    {done.stdout.decode()}{done.stderr.decode()}")
        expect(hits(node) > before, f"{order}: no hits")
        node.end_daemon()
