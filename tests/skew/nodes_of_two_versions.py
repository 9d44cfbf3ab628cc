"""Two nodes of different versions, over TCP with a key. Neither takes pushes or notices of the other; the sender
names the reason. Each goes on with programs of its own version."""
import os

from network import free_port, make_key
from nodes import PYTHON, Nodes
from processes import expect, run, wait_until
from versions import BOTH_WAYS

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/push_frames.py")

for one, another in BOTH_WAYS:
    with Nodes(2) as nodes:
        data = nodes.dataset(frames=12, sizes=(5000,))
        key = make_key(nodes)
        addresses = [f"127.0.0.1:{free_port()}" for _ in nodes]
        for node, address, version in zip(nodes, addresses, (one, another)):
            node.configure(nodes.datasets, f'listen = "{address}"\nkey_file = "{key}"\n', peers=addresses)
            with version.used():
                node.start()

        def held():
            numbers = []
            for node, version in zip(nodes, (one, another)):
                with version.used():
                    numbers.append(node.held(data))
            return numbers

        # To both nodes: the frames are on that of the writer's own version.
        done = one.ctl(nodes, nodes[0], "push", data.path)
        expect("of the protocol, this program" in done.stderr and addresses[1] in done.stderr, f"{done}")
        expect(held() == [12, 0], f"{held()}: {done}")
        done = one.ctl(nodes, nodes[0], "push", "--to", addresses[1], data.path)
        expect(done.status != 0 and "install the same version of Zazen on both machines" in done.stderr, f"{done}")

        # The writer's library: pushed to its own version, and nothing is lost.
        env = dict(nodes.env, ZAZEN_CONFIG=nodes[1].config, BODHI_LIBRARY=another.bodhi)
        done = run([PYTHON, EXAMPLE, data.path, "12"], env).succeeded()
        expect("pushed 12 dropped 0" in done.stdout, f"{done}")

        # Each would tell the other of changed frames. The status of both names the version, and so does the log
        # of the one that was asked.
        for node, version in zip(nodes, (one, another)):
            def failure():
                with version.used():
                    return node.status()["changes"]["peers"][0]["failure"] or ""
            wait_until(lambda: "of the protocol, this program" in failure(), f"the status of {node.name}")
            wait_until(lambda: "writers of another version leave so" in node.said(), f"the log of {node.name}")
        for node, version in zip(nodes, (one, another)):
            with version.used():
                done = nodes.serial(node, ["cat", *(data.file(name) for name in sorted(data.frames))])
                plain = run(["cat", *(data.file(name) for name in sorted(data.frames))], nodes.env)
                expect((done.status, done.stdout) == (0, plain.stdout), f"{node.name} reads other bytes")
