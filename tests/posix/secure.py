"""In a set-user-ID program the shim does nothing, even where it is loaded (AT_SECURE).

The program is linked with libzazen.so. Started by root it opens frames from root's cache; a
set-user-ID copy of it, started by nobody, runs with root's rights but does not.
"""
import os
import pwd
import shutil
import subprocess
import sys

from node import PROGRAMS, SHIM, Node, expect

SKIPPED = 77


def run(argv, environment, **more):
    return subprocess.run(list(map(str, argv)), env={"PATH": os.environ["PATH"], **environment},
                          capture_output=True, text=True, timeout=30, **more)


if os.geteuid() != 0:
    print("only root can make a set-user-ID copy for another user")
    sys.exit(SKIPPED)
nobody = pwd.getpwnam("nobody")
with Node() as node:
    for directory in (node.root, node.dataset):
        directory.chmod(0o755)
    program = node.root / "secure"
    shutil.copy(PROGRAMS / "secure", program)
    program.chmod(0o755)
    as_nobody = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    if run(["test", "-r", SHIM], {}, **as_nobody).returncode != 0:
        print("nobody cannot read the build directory")
        sys.exit(SKIPPED)
    node.start_daemon()
    node.warm()
    environment = {"ZAZEN_CONFIG": str(node.config), "LD_PRELOAD": str(SHIM)}
    frame = node.frame(9)
    for extra in (environment, {"ZAZEN_CONFIG": str(node.config)}):
        done = run([program, frame], extra)
        expect(done.stdout == "secure 0 cache\n", f"started by root: {done}")
    program.chmod(0o4755)
    done = run([program, frame], environment)
    expect(done.stdout == "secure 0 cache\n", f"set-user-ID, started by root: {done}")
    done = run([program, frame], environment, **as_nobody)
    expect(done.stdout != "secure 0 cache\n" and done.returncode == 0, f"started by nobody: {done}")
    if "secure 0" in done.stdout:
        print("this file system does not honour set-user-ID")
        sys.exit(SKIPPED)
    expect(done.stdout == "secure 1 origin\n", f"started by nobody: {done}")
