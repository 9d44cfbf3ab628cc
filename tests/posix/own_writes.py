"""The shim's own writes, of its report and its log, never end the program by a signal. They never
go into a file of the program."""
import os
import subprocess

from node import Node, expect

# Python ignores both signals, other programs do not.
READ = """
import signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
open(sys.argv[1]).close()
"""
READ_AND_REUSE = """
import os, sys
if sys.argv[1] == "close":
    os.close(2)
if os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) != 2:
    sys.exit(4)
os.write(2, b"data")
with open(sys.argv[2], "rb") as frame:
    frame.read()
"""


def with_limit(node, **environment):
    script = 'ulimit -f 0; exec /usr/bin/python3 -c "$0" "$1"'
    done = node.run(["bash", "-c", script, READ, node.frame(3)], node.shim(**environment))
    expect(done.returncode == 0, f"no file may grow, {environment}: {done}")
    return done


def check_limit(node):
    with_limit(node, ZAZEN_REPORT=str(node.report))
    expect(not list(node.root.glob("report*")), f"left: {list(node.root.iterdir())}")
    log = node.root / "log"
    with_limit(node, ZAZEN_LOG="info", ZAZEN_LOG_FILE=str(log))
    expect(log.read_bytes() == b"", "the log is empty")
    done = with_limit(node, ZAZEN_LOG="info", ZAZEN_REPORT=str(node.report))
    expect(b"the report was not written" in done.stderr and b"opens of frames: 1 from" in done.stderr,
           f"it says so where it can: {done}")


def check_pipe(node):
    """Nobody reads standard error, and the program must not end by SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = {"PATH": os.environ["PATH"], **node.shim(ZAZEN_LOG="info")}
    status = subprocess.run(["/usr/bin/python3", "-c", READ, node.frame(3)], env=environment,
                            stderr=writer, check=False).returncode
    os.close(writer)
    expect(status == 0, f"a pipe without a reader: {status}")


def check_reuse(node):
    """Standard error is closed, by the program or before it starts, and its number used again."""
    data = node.root / "data"
    for how, redirection in (("close", ""), ("closed", "2>&-")):
        script = f'exec /usr/bin/python3 -c "$@" {redirection}'
        done = node.run(["sh", "-c", script, "sh", READ_AND_REUSE, how, node.frame(3), data],
                        node.shim(ZAZEN_LOG="debug"))
        expect(done.returncode == 0, f"{how}: {done}")
        expect(data.read_bytes() == b"data", f"{how}: the program's file has {data.read_bytes()}")


with Node() as node:
    node.start_daemon()
    node.warm([3])
    check_limit(node)
    check_pipe(node)
    check_reuse(node)
