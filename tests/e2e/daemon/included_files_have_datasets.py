"""Datasets in included files are served; a reload reads the files anew, and an error in one
changes nothing."""
import os
import signal

from nodes import ZAZEND, Nodes, write_config
from processes import expect, run, wait_until

with Nodes(1) as nodes:
    node = nodes[0]
    here, comes = (nodes.dataset(frames=4, name=name) for name in ("here", "comes"))
    folder = os.path.join(node.directory, "conf.d")

    def served():
        return {each["path"] for each in node.status()["datasets"]}

    def reload(event):
        before = node.said().count(f"event={event}")
        node.signal(signal.SIGHUP)
        wait_until(lambda: node.said().count(f"event={event}") > before, event)

    # No dataset at all, and no directory: they may come later.
    node.configure([], 'include = "conf.d/*.toml"\n')
    node.start()
    expect(served() == set(), f"nothing yet: {served()}")
    os.mkdir(folder, 0o755)
    for data in (here, comes):
        write_config(os.path.join(folder, os.path.basename(data.path) + ".toml"), [data], "")
    expect(served() == set(), "nothing is read without a reload")
    reload("reloaded")
    expect(served() == {here.path, comes.path}, f"both: {served()}")
    nodes.warm(node, here, ["f1", "f2"])
    expect(node.ctl("ls", here.path).succeeded().stdout.count("\n") >= 2, "zazenctl reads them, too")

    # An error changes nothing, and stops no job.
    spoilt = os.path.join(folder, "comes.toml")
    with open(spoilt, "a") as file:
        file.write("fils = 1\n")
    reload("reload_failed")
    expect(f"{spoilt}:6: unknown key 'fils'" in node.said(), node.said())
    done = node.ctl("run", "--", "cat", here.file("f1")).succeeded()
    expect(f"{spoilt}:6: unknown key 'fils'" in done.stderr, f"{done}")
    done = run([ZAZEND, "--check-config", "--config", node.config], nodes.env)
    expect(done.status == 1 and f"{spoilt}:6:" in done.stderr, f"{done}")
    os.remove(spoilt)
    reload("reloaded")
    expect(served() == {here.path}, f"one: {served()}")
    expect(node.held(here) == 2, "its copies stay")

    # After a start, too.
    node.stop()
    node.start()
    expect(served() == {here.path} and node.held(here) == 2, "as before")
    if os.geteuid() == 0:
        node.stop()
        os.chmod(folder, 0o775)
        done = run([ZAZEND, "--config", node.config], nodes.env, seconds=20)
        expect(done.status == 2 and "conf.d/ is writable by others" in done.stderr, f"{done}")
        expect("hint: chmod go-w" in done.stderr, f"{done}")
