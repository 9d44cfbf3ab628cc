"""The shim and zazenctl of one version, the daemon of another, in both directions. A program reads the right
bytes from the origin with its own exit status, and a line names the reason. zazenctl names it, too."""
from nodes import Nodes
from processes import expect, run
from versions import BOTH_WAYS

REASON = "its zazend is of another version of Zazen"

for tools, daemon in BOTH_WAYS:
    with Nodes(1) as nodes, daemon.used():
        data = nodes.dataset(frames=8)
        nodes.start()
        nodes.push(data)
        (node,) = nodes

        read = ["sh", "-c", "cat \"$@\" | sha256sum; exit 7", "sh", *(data.file(name) for name in sorted(data.frames))]
        plain = run(read, nodes.env)
        for options in ((), ("--verbose",), ("--divide",)):
            done = tools.ctl(nodes, node, "run", *options, "--", *read)
            expect((done.status, done.stdout) == (7, plain.stdout), f"{options}: {done}")
            expect("zazen: zazend is of another version at " in done.stderr, f"{options}: {done}")
            noted = "zazenctl: note: zazend is of another version at " in done.stderr
            expect(noted or "--verbose" not in options, f"{done}")
        # Without zazenctl nobody has asked for a line.
        done = run(read, dict(nodes.env, LD_PRELOAD=tools.shim, ZAZEN_CONFIG=node.config))
        expect((done.status, done.stdout, done.stderr) == (7, plain.stdout, ""), f"{done}")
        # A change is made at the origin. Nobody tells the daemon, which finds it as any other.
        changed = ["sh", "-c", "echo changed > \"$1\" && cat \"$1\"", "sh", data.file("f1")]
        done = run(changed, dict(nodes.env, LD_PRELOAD=tools.shim, ZAZEN_CONFIG=node.config))
        expect((done.status, done.stdout) == (0, "changed\n"), f"{done}")

        for words in (("status",), ("status", "-x"), ("status", "--json"), ("ls",), ("ls", data.path), ("verify",),
                      *((word, data.path) for word in ("evict", "pin", "warm", "push")), ("top", "--once")):
            done = tools.ctl(nodes, node, *words)
            expect(done.status == 3 and REASON in done.stderr, f"{done}")
            expect("hint: " in done.stderr, f"{done}")
        done = tools.ctl(nodes, node, "explain", data.file("f2"))
        expect(REASON in done.stdout and "from the origin" in done.stdout, f"{done}")
        done = tools.ctl(nodes, node, "doctor")
        expect(done.status == 4 and REASON in done.stdout, f"{done}")

        status = node.status()
        expect((status["hits"], status["misses"], status["pushes"]) == (0, 0, 8), f"{status}")
        expect(node.held(data) == 8, "something was evicted")
