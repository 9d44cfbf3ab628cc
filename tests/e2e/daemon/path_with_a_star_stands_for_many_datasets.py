"""A path with '*' stands for each directory of such a name: at a start, at a reload, and for a
directory that comes later without either."""
import json
import os
import signal

from nodes import ZAZEND, Nodes
from processes import expect, run, wait_until

LOOK = 60  # seconds between two looks of the daemon

with Nodes(1) as nodes:
    node = nodes[0]
    first, second, apart = (nodes.dataset(frames=3, name=f"{name}/traj", ordinary=False)
                            for name in ("one", "two", "three"))
    origin = nodes.path("origin")
    node.configure([], f'''
[[dataset]]
path = "{origin}/*/traj*"
frames = "{first.template}"
filter = false

[[dataset]]
path = "{apart.path}"
frames = "{apart.template}"
''')
    os.symlink(first.path, f"{origin}/two/traj-link")

    def served():
        return {each["path"] for each in node.status()["datasets"]}

    def reload():
        before = node.said().count("event=reload")
        node.signal(signal.SIGHUP)
        wait_until(lambda: node.said().count("event=reload") > before, "the reload")

    done = run([ZAZEND, "--check-config", "--config", node.config], nodes.env).succeeded()
    expect(done.stdout == f"{node.config}: ok, 3 datasets\n", f"{done}")
    node.start()
    expect(served() == {first.path, second.path, apart.path}, f"the real directories: {served()}")
    for data in (first, second, apart):
        nodes.warm(node, data, ["f1"])
    expect("f1" in node.ctl("ls", second.path).succeeded().stdout, "zazenctl knows them")

    # The keys of a block hold for each directory; a block of its own takes precedence.
    plan = json.loads(node.ctl("run", "--dry-run", "--json", "true").succeeded().stdout)
    expect(plan["environment"]["ZAZEN_DIVISION"] == f"on {apart.path}", f"{plan}")
    done = node.ctl("explain", first.file("f1"), apart.file("f1")).succeeded()
    expect("f1" in done.stdout, f"{done}")

    # One that comes, and one that goes.
    os.rename(f"{origin}/two", f"{origin}/four")
    reload()
    fourth = f"{origin}/four/traj"
    expect(served() == {first.path, apart.path, fourth}, f"after a reload: {served()}")
    fifth = nodes.dataset(frames=2, name="five/traj-5", ordinary=False)
    wait_until(lambda: fifth.path in served(), "the directory to be found", LOOK + 30)
    expect(node.said().count("event=directory_found") == 1, node.said())
    nodes.warm(node, fifth, ["f0"])
    node.stop()
    node.start()
    expect(served() == {first.path, apart.path, fourth, fifth.path}, f"after a start: {served()}")
    expect(node.held(fifth) == 1, "its copies are known")
