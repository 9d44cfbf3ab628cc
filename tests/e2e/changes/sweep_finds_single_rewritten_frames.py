"""With validate = "never" the sweep finds a frame that was changed without the shim. An origin that
is missing drops no copy, and status shows the progress."""
import os

from nodes import Nodes
from processes import expect, wait_until

with Nodes(1) as nodes:
    data = nodes.dataset(frames=300, sizes=(3000,), ordinary=False, keys='validate = "never"')
    other = nodes.dataset(frames=50, name="other", sizes=(100,), keys='validate = "never"')
    nodes.configure('sweep = "1s"\n')
    node = nodes[0]
    node.start()
    nodes.push(data)
    nodes.push(other)

    def sweep():
        return node.status()["sweep"]

    def wait_for_passes(count):
        end = sweep()["passes"] + count
        wait_until(lambda: sweep()["passes"] >= end, f"{count} passes")

    def checks():
        return [figures["checks_each_open"] for figures in node.status()["datasets"]]

    wait_for_passes(2)
    state = sweep()
    expect(state["period_seconds"] == 1 and state["stale"] == 0 and state["of"] == 350, f"{state}")
    expect(state["last_ended"] > 1e9, f"{state}")
    expect(checks() == [False, False], "nothing is in doubt")

    for name in ("f0", "f123", "f299"):
        old = os.stat(data.file(name))
        with open(data.file(name), "r+b") as file:
            file.write(b"new" * 1000)
        os.utime(data.file(name), ns=(old.st_atime_ns, old.st_mtime_ns))
        wait_until(lambda: name not in node.copies(data), f"{name} to be dropped")
        shown = nodes.serial(node, ["cat", data.file(name)]).succeeded()
        expect(shown.stdout == "new" * 1000, f"old bytes of {name}")
    os.unlink(data.file("f7"))
    wait_until(lambda: "f7" not in node.copies(data), "what is gone at the origin to be dropped")
    wait_until(lambda: checks() == [False, False], "the doubt to pass")
    expect(sweep()["stale"] == 4, f"{sweep()}")

    # Not mounted: the directory is missing, or an empty mount point. The others go on.
    held = node.held(data)
    os.rename(data.path, data.path + "-away")
    wait_for_passes(2)
    os.mkdir(data.path)
    wait_for_passes(2)
    expect(node.held(data) == held, "copies were dropped because the origin is not mounted")
    os.unlink(other.file("f3"))
    wait_until(lambda: "f3" not in node.copies(other), "another dataset's sweep")
    os.rmdir(data.path)
    os.rename(data.path + "-away", data.path)
    wait_for_passes(2)
    expect(node.held(data) == held, "the origin is back, and no copy is lost")
