"""The daemon refuses a cache that it cannot write, or that others could rearrange, with the
reason."""
import os

from nodes import ZAZEND, Nodes
from processes import expect, run

with Nodes(1) as nodes:
    nodes.dataset(frames=1)
    node = nodes[0]
    nodes.configure()

    def refused(*words):
        done = run([ZAZEND, "--config", node.config], nodes.env, seconds=10)
        expect(done.status == 1, f"status 1 wanted: {done}")
        first = done.stderr.splitlines()[0]
        expect(first.startswith("zazend: error: ") and node.cache in first, f"{done}")
        for word in words:
            expect(word in done.stderr, f"{word!r} is not in {done.stderr}")

    open(node.cache, "w").close()
    refused()
    os.unlink(node.cache)
    os.mkdir(node.cache)
    os.chmod(node.cache, 0o777)
    refused("writable by")
    os.rmdir(node.cache)
    os.mkdir(nodes.path("elsewhere"), 0o700)
    os.symlink(nodes.path("elsewhere"), node.cache)
    refused("symbolic link")
    os.unlink(node.cache)

    os.mkdir(node.cache, 0o700)
    if os.geteuid() == 0:
        os.chown(node.cache, 12345, 12345)
        refused("owned by uid 12345")
    else:
        os.chmod(node.cache, 0o500)
        refused()
        os.chmod(node.cache, 0o700)
