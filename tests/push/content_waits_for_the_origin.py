"""A frame that is pushed before the origin has it is held as a native and shown to nobody. The
first open after the origin has it makes it a copy like any other, without another transfer."""
from network import Content, Nodes, check_held, expect, held_file, natives, push, run, wait_until
import os

SIZES = {"f0": 0, "f1": 1, "f2": 4096, "f3": 100_003, "f4": 3_000_000}

with Nodes(2) as nodes:
    data = nodes.dataset(frames=0)
    nodes.start()
    node, other = nodes[0], nodes[1]
    peer = f"unix:{node.runtime}"
    content = Content(nodes, SIZES)
    for how in ("bytes", "fd"):
        answers, done = push(nodes, peer, None, data, how, content.words())
        expect(answers == dict.fromkeys(SIZES, 0), f"{how}: {done}")
        check_held(node, data, content)  # once, however often it was pushed
    expect(natives(nodes, peer, None, data) == [0, 1, 2, 3, 4], "natives")
    expect(node.status()["datasets"][0]["waiting"] == 5, "all wait")
    expect(node.copies(data) == set(), "none has a name")

    # No program sees them before the origin has them.
    seen = nodes.serial(node, ["sh", "-c", f"stat {data.file('f1')}; cat {data.file('f1')}; ls {data.path}"])
    expect(not set(seen.stdout.split()) & set(SIZES) and seen.stderr.count("No such file") == 2, f"{seen}")

    before = {name: os.stat(held_file(node, data, name)).st_ino for name in SIZES}
    content.write_origin(data)
    read = nodes.serial(node, ["sha256sum", *(data.file(name) for name in SIZES)]).succeeded()
    expect(read.stdout == run(["sha256sum", *(data.file(name) for name in SIZES)], nodes.env).stdout,
           "the origin's bytes")
    node.wait_for_copies(data, SIZES)
    check_held(node, data, content)
    figures = node.status()
    expect((figures["datasets"][0]["waiting"], figures["misses"]) == (0, 5), f"{figures}")
    for name in SIZES:
        copy, origin = os.stat(node.cache + data.file(name)), os.stat(data.file(name))
        expect(copy.st_ino == before[name], f"{name} was copied again")
        shown = nodes.serial(node, ["stat", "-c", "%i %s %y %z %a %u", data.file(name)]).succeeded()
        plain = run(["stat", "-c", "%i %s %y %z %a %u", data.file(name)], nodes.env)
        expect(shown.stdout == plain.stdout, f"{shown} is not {plain}")
    hits = node.status()["hits"]
    nodes.serial(node, ["cat", *(data.file(name) for name in SIZES)]).succeeded()
    figures = node.status()
    expect((figures["hits"] - hits, figures["misses"]) == (5, 5), f"plain hits: {figures}")

    # The other node has it as an alien: pushed there, it is a native.
    nodes.warm(other, data, ["f3"])
    expect(other.held(data, "alien") == 1, "an alien")
    answers, done = push(nodes, f"unix:{other.runtime}", None, data, "bytes", content.words(["f3"]))
    expect(answers == {"f3": 0} and other.held(data, "native") == 1 and other.held(data, "alien") == 0,
           f"{done}")

    # A frame that differs from what was pushed is the origin's, when it is old enough to be whole.
    push(nodes, peer, None, data, "bytes", ["f9", content.file("f3")])
    data.write("f9", 100_003)
    os.utime(data.file("f9"), (0, 0))
    nodes.serial(node, ["cat", data.file("f9")]).succeeded()
    node.wait_for_copies(data, ["f9"])
    with open(node.cache + data.file("f9"), "rb") as copy, open(data.file("f9"), "rb") as origin:
        expect(copy.read() == origin.read(), "the origin's bytes")
    expect(node.held(data, "alien") == 1, "fetched anew")

    # Pushed when the origin has it: a copy like any other, at once.
    data.write("f10", 5000)
    answers, done = push(nodes, peer, None, data, "bytes", ["f10", data.file("f10")])
    expect(answers == {"f10": 0} and "f10" in node.copies(data), f"{done}")

    # The sample of the next program finds what has come meanwhile; a restart keeps what waits.
    push(nodes, peer, None, data, "bytes", ["f11", content.file("f3"), "f12", content.file("f2")])
    node.kill()
    node.start()
    wait_until(lambda: node.status()["reconciled"], "reconciliation")
    expect(node.status()["datasets"][0]["waiting"] == 2, "after a crash")
    node.stop()
    node.start()
    expect(node.status()["datasets"][0]["waiting"] == 2, "after a clean stop")
    with open(data.file("f11"), "wb") as file:
        file.write(open(content.file("f3"), "rb").read())
    nodes.serial(node, ["cat", data.file("f10")]).succeeded()
    node.wait_for_copies(data, ["f11"])  # adopted by the sample
    expect(node.status()["datasets"][0]["waiting"] == 1, "the other one waits")
    expect(node.ctl("verify", data.path).status == 0, "verify")
    expect(node.ctl("evict", "--all").status == 0 and node.held(data) == 0, "evicted")
