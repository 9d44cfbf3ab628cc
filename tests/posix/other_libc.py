"""A program that is linked with musl runs behind the shim as without it. It is told once why the
shim does nothing: not again in its children, and not where Zazen is switched off."""
import shutil
import subprocess
import sys

from node import SHIM, Node, expect

REASON = b"zazen: libzazen.so needs glibc; "

compiler = shutil.which("musl-gcc")
if compiler is None:
    print("skipped: there is no musl-gcc")
    sys.exit(77)

with Node() as node:
    program = node.root / "program"
    subprocess.run([compiler, "-O1", "-o", program, "processes/other_libc.c"], check=True)
    node.start_daemon()
    node.warm()
    plain = node.run([program, node.dataset])
    expect(plain.returncode == 0 and plain.stdout.count(b"in a thread: 100") == 3, f"{plain}")
    expect(plain.stderr == b"", f"{plain}")

    def behind_shim(**more):
        done = node.run([program, node.dataset], {**node.shim(), **more})
        expect(done.returncode == 0 and done.stdout == plain.stdout, f"{done}\n{plain}")
        return done.stderr

    said = behind_shim()
    expect(said.startswith(REASON) and said.count(b"\n") == 1, f"{said}")
    expect(behind_shim(ZAZEN_DISABLE="1") == b"", "nothing is said where it is switched off")
    done = node.run([program, node.dataset], {"LD_PRELOAD": str(SHIM)})
    expect(done.stdout == plain.stdout and done.stderr == b"", f"not configured: {done}")
