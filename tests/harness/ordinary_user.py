"""For tests of limits that do not bind root: the rest of the script runs as an ordinary user, with
copies of the programs that such a user can reach.

    import ordinary_user
    ordinary_user.run_as_one()
"""
import os
import shutil
import subprocess
import sys
import tempfile

UID = 70231
PROGRAMS = ("daemon/zazend", "tools/zazenctl", "preload/libzazen.so")


def run_as_one():
    if os.geteuid() != 0:
        return
    here, script = os.path.split(os.path.abspath(sys.argv[0]))
    with tempfile.TemporaryDirectory(prefix="zazen-") as top:
        for program in PROGRAMS:
            os.makedirs(os.path.join(top, os.path.dirname(program)), exist_ok=True)
            shutil.copy(os.path.join(os.environ["ZAZEN_BUILD"], program), os.path.join(top, program))
        scripts = os.path.join(top, "scripts")
        shutil.copytree(here, scripts, ignore=shutil.ignore_patterns("programs", "__pycache__"))
        for directory, _, names in os.walk(top):
            for name in ["", *names]:
                os.chown(os.path.join(directory, name), UID, UID)
        done = subprocess.run(
            ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--", sys.executable,
             os.path.join(scripts, script)], cwd=top, env=dict(os.environ, ZAZEN_BUILD=top, HOME=top))
        sys.exit(done.returncode)
