"""If the origin's server gives root no rights, frames are still served and checked, because the daemon looks as
the owner. (A root without its capabilities over files stands for it.)"""
import os

from nodes import ZAZEND
from people import ALICE, CAROL, SystemNode
from processes import Process, expect, wait_until
from wire import SAMPLE, ask

DROPPED = "-dac_override,-dac_read_search"

with SystemNode() as node:
    home = node.nodes.path("origin", "home")
    os.makedirs(home)
    os.chown(home, ALICE.uid, ALICE.gid)
    data = node.dataset(4, name="home/sim1", sizes=(5000,))
    files = [data.file(name) for name in sorted(data.frames)]
    for path in files:
        os.chmod(path, 0o600)
    os.chmod(home, 0o700)
    node.node.configure([data], 'users = "all"\n')
    daemon = Process(["setpriv", f"--bounding-set={DROPPED}", f"--inh-caps={DROPPED}", "--",
                      ZAZEND, "--config", node.node.config], node.nodes.env)
    node.nodes.running.append(daemon)
    wait_until(lambda: node.node.ctl("status").status == 0, "the daemon to serve")
    with open(f"/proc/{daemon.pid}/status") as file:
        capabilities = [line.split()[1] for line in file if line.startswith("CapEff")][0]
    expect(int(capabilities, 16) & 0b110 == 0, f"the daemon can look everywhere: {capabilities}")

    expect(node.check(ALICE, files, "at first") == set(files), "alice reads her frames")
    node.wait_for_copies(data, data.frames)
    expect(ask(node.node.runtime, SAMPLE, data.path) == 0, "the sample failed")
    node.check(ALICE, files, "cached")
    expect(node.readable_copies(ALICE, files) == set(files), "alice cannot read the copies")
    expect(not node.readable_copies(CAROL, files), "carol reads alice's copies")
    expect(node.node.copies(data) == data.frames, "what root cannot see was dropped")
    os.utime(files[0], (1, 1))
    expect(ask(node.node.runtime, SAMPLE, data.path) == 0, "the sample failed")
    expect(node.node.copies(data) == data.frames - {"f0"}, "a changed frame was not noticed")
    daemon.signal(15)
    node.nodes.running.remove(daemon)
    expect(daemon.finish().status == 0, "it did not stop cleanly")
