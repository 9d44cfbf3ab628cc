"""status: its first line says whether the daemon is healthy. -x shows only problems. The exit
status is 3 if no daemon answers."""
import json
import os
import shutil
import signal

from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=16)
    nodes.configure()
    node = nodes[0]

    done = node.ctl("status")
    expect(done.status == 3, f"no daemon: {done}")
    expect(done.stderr.startswith("zazenctl: error: ") and "\nhint: " in done.stderr, f"{done}")
    expect(done.stdout == "", f"results only on stdout: {done}")

    node.start()
    nodes.push(data)
    done = node.ctl("status").succeeded()
    expect(": healthy, up " in done.stdout.splitlines()[0], f"{done}")
    expect(f"{data.bytes_of(data.frames)}" in node.ctl("status", "-p").stdout, "exact bytes")
    status = node.status()
    expect(status["used_files"] == 16 and status["node"] == "n0", f"{status}")
    expect(status["datasets"][0]["native"] == 16, f"{status}")
    done = node.ctl("status", "-x")
    expect((done.status, done.stdout) == (0, ""), f"no problems, no words: {done}")

    shutil.move(data.path, data.path + ".away")
    done = node.ctl("status")
    expect(done.status == 0 and "not healthy" in done.stdout.splitlines()[0], f"{done}")
    done = node.ctl("status", "-x")
    expect(done.status == 4 and data.path in done.stdout, f"one problem: {done}")
    done = node.ctl("status", "-x", "--json")
    expect(done.status == 4 and len(json.loads(done.stdout)["problems"]) == 1, f"{done}")
    shutil.move(data.path + ".away", data.path)

    node.signal(signal.SIGSTOP)
    done = node.ctl("status")
    node.signal(signal.SIGCONT)
    expect(done.status == 3, f"a daemon that does not answer: {done}")
    expect(os.path.exists(node.runtime + "/table"), "the daemon is still there")
