"""Another user's program under this shim passes through and reads nothing that it could not."""
import os

from nodes import SHIM, ZAZENCTL, Nodes, skip
from processes import expect, run

if os.geteuid() != 0:
    skip("only root can become another user")

OTHER = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]

with Nodes(1) as nodes:
    data = nodes.dataset(frames=8)
    os.chmod(data.file("f3"), 0o600)
    nodes.start()
    nodes.push(data)
    for directory in (nodes.directory, nodes[0].directory):
        os.chmod(directory, 0o755)
    if run([*OTHER, "ls", data.path, SHIM], nodes.env).status != 0:
        skip("another user cannot reach the build directory")
    nodes.serial(nodes[0], ["cat", data.file("f3")]).succeeded()
    hits = nodes[0].status()["hits"]
    expect(hits == 1, "the owner is served from the cache")
    reading = ["sh", "-c", 'ls "$0"; cat "$0"/f3; sha256sum "$0"/f[0-9]', data.path]
    plain = run([*OTHER, *reading], nodes.env)
    shown = run([*OTHER, "env", f"LD_PRELOAD={SHIM}", f"ZAZEN_CONFIG={nodes[0].config}", *reading],
                nodes.env)
    expect("Permission denied" in plain.stderr, f"the test is no test: {plain}")
    expect((shown.stdout, shown.stderr) == (plain.stdout, plain.stderr), f"{shown}\nnot {plain}")
    expect(nodes[0].status()["hits"] == hits, "another user was served from the cache")
    expect(run([*OTHER, "ls", nodes[0].cache], nodes.env).status != 0, "the cache is open to all")
    refused = run([*OTHER, ZAZENCTL, "--config", nodes[0].config, "status"], nodes.env)
    expect(refused.status == 3, f"the daemon answers another user: {refused}")
