"""A reload has all processes of a daemon in the background write to a new log file: zazend, the
forker's new workers, and those that run. Lines begin with the time in UTC."""
import datetime
import os
import re
import signal

from nodes import Nodes
from processes import expect, wait_until
from workers import Workers

LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) zazend level=(?:info|warn|error) event=\w+")


def text_of(path):
    with open(path) as file:
        return file.read()


def check_lines(path):
    now = datetime.datetime.now(datetime.timezone.utc)
    for line in text_of(path).splitlines():
        begins = LINE.match(line)
        expect(begins, f"a line of the log: {line}")
        at = datetime.datetime.fromisoformat(begins[1].replace("Z", "+00:00"))
        expect(datetime.timedelta() <= now - at < datetime.timedelta(minutes=5), f"{now}: {line}")


def crash_worker(node, log):
    """A worker's report of its own crash goes where its standard error goes."""
    before = text_of(log).count("event=crash_end")
    pid = Workers(node.status()["pid"]).all()[0]
    os.kill(pid, signal.SIGSEGV)
    wait_until(lambda: text_of(log).count("event=crash_end") == before + 1, f"the end of worker {pid}")
    return pid


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=1)
    nodes.configure()
    log = f"{node.runtime}/log"
    node.ctl("start").succeeded()
    try:
        node.status()  # a worker runs
        first = Workers(node.status()["pid"]).all()
        expect(first, "no worker runs")
        os.rename(log, f"{log}.1")
        node.ctl("reload").succeeded()
        expect("event=reloaded" in text_of(log), "zazend writes to the old file")
        old = text_of(f"{log}.1")
        expect("event=serving" in old and "event=reloaded" not in old, old)
        expect(crash_worker(node, log) in first, "another worker has crashed")
        expect(crash_worker(node, log) not in first, "the same worker has crashed")
        expect(text_of(f"{log}.1") == old, "somebody writes to the old file")
        expect(os.stat(log).st_mode & 0o777 == 0o600, "others may read the log")

        # A wrong configuration does not keep it from that.
        os.rename(log, f"{log}.2")
        with open(node.config, "a") as file:
            file.write("nonsense = 1\n")
        expect(node.ctl("reload").status == 1 and "event=reload_failed" in text_of(log), "a wrong file")
        os.unlink(log)
        os.symlink(nodes.path("elsewhere"), log)
        done = node.ctl("reload")
        expect(done.status == 1 and f"log {log}: " in done.stderr, f"{done}")
        expect(not os.path.exists(nodes.path("elsewhere")), "the log has followed a link")
    finally:
        node.ctl("stop").succeeded()
    for name in ("log.1", "log.2"):
        check_lines(f"{node.runtime}/{name}")
