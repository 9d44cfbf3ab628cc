"""A key is replaced on one node after another, and then where a simulation runs. Meanwhile all of
them push and tell each other of changes. Nothing is refused for good, dropped or missed. In the end
the old key is useless."""
import os
import shutil
import signal

from bodhi_library import Bodhi, configure_writer, frame_bytes, free_addresses, make_key
from changed_frames import QUIET, change, wait_for_drop, wait_until_acquainted
from network import push
from nodes import PYTHON, Nodes
from processes import expect, wait_until

WRITE = "import sys\nfor name in sys.argv[1:]:\n    open(name, 'wb').write(name.encode() * 50)"

with Nodes(2) as nodes:
    data = nodes.dataset(frames=40, sizes=(2000,), ordinary=False, keys='push = true')
    changing = nodes.dataset(frames=8, name="sim2", sizes=(2000,), keys='validate = "never"')
    n0, n1 = nodes
    addresses = free_addresses(2)
    key = make_key(nodes)
    old, new = nodes.path("old"), nodes.path("new")
    os.rename(key, old)
    os.rename(make_key(nodes), new)
    written = []

    def put(holder, file):
        """The holder's key file becomes this one."""
        shutil.copy(file, f"{holder}.new")
        os.rename(f"{holder}.new", holder)

    def configure(node, grace):
        at = addresses[list(nodes).index(node)]
        node.configure(nodes.datasets, f'listen = "{at}"\nkey_file = "{node.key}"\nkey_grace = "{grace}"\n'
                       'writer_timeout = "4s"\n' + QUIET, peers=addresses)

    def reload(node, grace="1h"):
        configure(node, grace)
        before = node.said().count("event=reloaded")
        node.signal(signal.SIGHUP)
        wait_until(lambda: node.said().count("event=reloaded") > before, "the reload")

    def write_on(node):
        """A program writes five frames, which the node's daemon pushes to both."""
        before = node.status()["writer"]["pushed"]
        names = [f"f{100 + len(written) + i}" for i in range(5)]
        written.extend(names)
        nodes.serial(node, [PYTHON, "-c", WRITE, *(data.file(name) for name in names)]).succeeded()

        def arrived():
            figures = node.status()["writer"]
            expect(figures["dropped"] == 0, f"{figures}")
            return figures["pushed"] >= before + 5 and figures["waiting"] == 0
        wait_until(arrived, f"the pushes of {node.name}", 60)

    def change_on(node, other, name):
        nodes.warm(other, changing, [name])
        wait_for_drop(other, changing, name, change(nodes, node, changing, name, "truncate"))

    def simulate(writer, seqs):
        for seq in seqs:
            writer.write(data.path, seq, frame_bytes(data, seq))

    def all_goes_on(names, writer, seqs):
        for node, other, name in ((n0, n1, names[0]), (n1, n0, names[1])):
            write_on(node)
            change_on(node, other, name)
        simulate(writer, seqs)
        writer.flush()
        expect(writer.figures().dropped == 0, f"{writer.figures()}")

    for node in nodes:
        node.key = nodes.path(f"{node.name}.key")
        put(node.key, old)
        configure(node, "1h")
        node.start()
    wait_until_acquainted(nodes)
    put(key, old)
    early = nodes.path("early.key")
    put(early, new)
    config = configure_writer(nodes, data, addresses, key, 'writer_timeout = "4s"')
    early_config = shutil.copy(config, nodes.path("early.toml"))
    with open(early_config) as file:
        text = file.read()
    with open(early_config, "w") as file:
        file.write(text.replace(f'"{key}"', f'"{early}"'))

    with Bodhi(config) as writer, Bodhi(early_config) as hasty:
        all_goes_on(("f0", "f1"), writer, range(20, 24))

        # It has the new key before any node has: its frames wait.
        refused = [node.status()["network"]["refused"] for node in nodes]
        simulate(hasty, (38, 39))
        wait_until(lambda: all(node.status()["network"]["refused"] > before
                               for node, before in zip(nodes, refused)), "both to refuse it")
        expect(hasty.figures().waiting == 2, f"{hasty.figures()}")

        put(n0.key, new)
        reload(n0)
        hasty.flush()
        expect((hasty.figures().pushed, hasty.figures().dropped) == (2, 0), f"{hasty.figures()}")
        all_goes_on(("f2", "f3"), writer, range(24, 28))

        put(n1.key, new)
        reload(n1)
        all_goes_on(("f4", "f5"), writer, range(28, 32))

        # The grace is over, and the simulation's machine has the old key: its frames wait.
        for node in nodes:
            reload(node, "off")
            wait_until(lambda: "its key was replaced" in node.said(), "its session to be closed")
        for address in addresses:
            done = push(nodes, address, old, data, "natives", [])[1]
            expect(done.status == 3 and "refused" in done.stderr, f"{done}")
        refused = [node.status()["network"]["refused"] for node in nodes]
        simulate(writer, range(32, 36))
        wait_until(lambda: all(node.status()["network"]["refused"] > before
                               for node, before in zip(nodes, refused)), "both to refuse it")
        put(key, new)
        writer.flush()
        expect((writer.figures().pushed, writer.figures().dropped) == (16, 0), f"{writer.figures()}")
        all_goes_on(("f6", "f7"), writer, range(36, 38))
    for node in nodes:
        said = node.said()
        expect(said.count("event=new_key ") == 1 and "event=frames_not_pushed" not in said, said)
