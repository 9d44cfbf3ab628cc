"""A system that refuses threads (RLIMIT_NPROC) ends no daemon. Work that needs a thread waits until
there is one, and programs read the origin meanwhile. At its start the daemon says so and ends."""
import resource
import signal

import ordinary_user

ordinary_user.run_as_one()

from nodes import ZAZENCTL, ZAZEND, Nodes, is_sanitized, skip  # noqa: E402
from processes import Process, expect, wait_until  # noqa: E402

if is_sanitized():
    skip("a sanitizer's run time has threads of its own, and ends without them")


def limit_threads(pid, soft):
    hard = resource.prlimit(pid, resource.RLIMIT_NPROC)[1]
    resource.prlimit(pid, resource.RLIMIT_NPROC, (hard if soft is None else soft, hard))


def start_with(node, env, threads):
    """Whether it serves with this number of threads of its user. Otherwise it must say why not."""
    daemon = Process(["prlimit", f"--nproc={threads}:", ZAZEND, "--config", node.config], env)
    wait_until(lambda: not daemon.running() or "event=serving" in daemon.stderr_so_far(),
               "the daemon to serve or to end")
    serves = daemon.running()
    if serves:
        daemon.signal(signal.SIGTERM)
    done = daemon.finish()
    expect(done.status == (0 if serves else 1), f"with {threads} threads: {done}")
    expect(serves or "zazend: error: the system refuses a thread" in done.stderr,
           f"with {threads} threads: {done}")
    return serves


with Nodes(1) as nodes:
    node = nodes[0]
    sets = [nodes.dataset(frames=12, name=f"sim{i}", ordinary=False) for i in range(3)]
    data = sets[0]
    nodes.configure()
    # One more each time, until it is enough: each thread of the start is once the first refused.
    refusals = 0
    while not start_with(node, nodes.env, refusals + 1):
        refusals += 1
        expect(refusals < 1000, "it never starts")
    expect(refusals > 5, f"refused {refusals} times only")

    node.start()
    pid = node.pid()
    limit_threads(pid, 1)
    # Of every kind: fills, changed and written frames, pushes, samples, evictions.
    for one in sets:
        files = [one.file(name) for name in sorted(one.frames)]
        plain = Process(["cat", *files], nodes.env).finish().succeeded().stdout
        shown = nodes.serial(node, ["cat", *files]).succeeded().stdout
        expect(shown == plain, f"{one.path} through the shim")
        nodes.serial(node, ["sh", "-c", f"echo changed > {one.file('f1')}"]).succeeded()
        expect(nodes.serial(node, ["cat", one.file("f1")]).succeeded().stdout == "changed\n", "f1")
    pushes = [Process([ZAZENCTL, "--config", node.config, "push", one.path, "--to",
                       f"unix:{node.runtime}"], nodes.env) for one in sets]
    wait_until(lambda: "event=shortage" in node.said(), "a refused thread")
    node.ctl("evict", data.path).succeeded()
    node.ctl("ls", data.path).succeeded()
    expect(node.status()["pid"] == pid, "the same daemon")
    limit_threads(pid, None)
    for push in pushes:
        push.finish().succeeded()
    for one in sets:
        nodes.serial(node, ["cat", *(one.file(name) for name in one.frames)]).succeeded()
        node.wait_for_copies(one, one.frames)
    expect(node.status()["pid"] == pid, "the same daemon")
