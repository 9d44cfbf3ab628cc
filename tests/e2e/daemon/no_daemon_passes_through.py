"""Without a daemon, configuration or readable table the shim changes nothing, in silence."""
import os

from nodes import SHIM, Nodes
from processes import expect, run

with Nodes(2) as nodes:
    data = nodes.dataset(frames=16)
    nodes.configure()
    commands = 'ls -la "$0"; stat -c "%i %s %z" "$0"/f1; sha256sum "$0"/f*; cat "$0"/nothing'
    listing = ["sh", "-c", commands, data.path]
    plain = run(listing, nodes.env)
    os.makedirs(nodes.path("empty"))
    with open(nodes.path("garbage"), "w") as file:
        file.write("runtime = " * 1000)
    for what in ({"ZAZEN_CONFIG": nodes[0].config}, {}, {"ZAZEN_CONFIG": ""},
                 {"ZAZEN_CONFIG": nodes.path("missing.toml")}, {"ZAZEN_RUNTIME": ""},
                 {"ZAZEN_CONFIG": nodes.path("garbage")}, {"ZAZEN_RUNTIME": nodes.path("empty")},
                 {"ZAZEN_VIEW": nodes.path("empty")}, {"ZAZEN_RUNTIME": "x" * 5000}):
        shown = run(listing, dict(nodes.env, LD_PRELOAD=SHIM, **what))
        expect((shown.status, shown.stdout, shown.stderr)
               == (plain.status, plain.stdout, plain.stderr), f"with {what}: {shown}")
    nodes.mpirun("list_and_read_c", data, seconds=30).check_unfiltered()
