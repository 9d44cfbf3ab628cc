"""warm: brings missing frames, in parts, within the capacity. ^C ends it in order."""
import json
import os
import signal

from nodes import ZAZENCTL, Nodes
from processes import Process, expect, wait_until

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=60)
    small = nodes.dataset(frames=3000, name="small", sizes=(1,), ordinary=False)
    nodes.start()

    def warm(*words):
        done = node.ctl("warm", "--json", *words)
        return done, json.loads(done.stdout)

    done, would = warm(data.path, "--dry-run")
    expect(done.status == 0 and would["would_bring"] == 60 and node.held(data) == 0, f"{done}")
    expect(would["expected_bytes"] == data.bytes_of(data.frames), f"few are looked at all: {done}")

    done, part = warm(data.path, "--frames", "0-9")
    expect(done.status == 0 and (part["frames"], part["brought"]) == (10, 10), f"{done}")
    expect(node.copies(data) == {f"f{seq}" for seq in range(10)}, "these and no others")
    done, named = warm(data.file("f12"), data.file("f3"))
    expect((named["brought"], named["already_there"]) == (1, 1), f"{done}")
    done, rest = warm(data.path, "--jobs", "3")
    expect((rest["brought"], rest["already_there"], rest["failed"]) == (49, 11, 0), f"{done}")
    expect(rest["bytes"] == data.bytes_of(data.frames - {f"f{s}" for s in (*range(10), 12)}),
           f"{done}")
    expect(node.held(data, "alien") == 60, "as aliens")

    nodes.serial(node, ["cat", *map(data.file, data.frames)]).succeeded()
    figures = node.status()
    expect((figures["hits"], figures["misses"]) == (60, 0), f"the first reader hits: {figures}")

    words = node.ctl("warm", data.path).succeeded().stdout
    expect(words == "brought 0 frames (0 B); 60 already there, 0 without room, 0 failed\n", words)

    # A file that cannot be cached fails by name; the others do not.
    os.symlink("nowhere", data.file("f200"))
    data.write("f201", 10)
    done, figures = warm(data.path)
    expect(done.status == 1 and (figures["brought"], figures["failed"]) == (1, 1), f"{done}")
    expect(f"{data.file('f200')}: a symbolic link" in done.stderr, f"{done}")
    os.unlink(data.file("f200"))

    # ^C: what is there is whole and stays, and the summary tells it.
    process = Process([ZAZENCTL, "--config", node.config, "warm", small.path, "--json", "--jobs",
                       "1"], nodes.env)
    wait_until(lambda: node.held(small) > 0, "the first copy")
    process.signal(signal.SIGINT)
    done = process.finish()
    figures = json.loads(done.stdout)
    expect(done.status == -signal.SIGINT and figures["stopped"], f"{done}")
    expect(0 < figures["brought"] == node.held(small) < 3000, f"{done}")
    expect(node.ctl("verify", small.path).status == 0, "all whole")

    for words in ((), ("/",), (data.path, "--frames", "x"), (data.file("f1"), "--frames", "1"),
                  (data.path, "--jobs", "0")):
        expect(node.ctl("warm", *words).status == 2, f"wrong usage: {words}")
    os.rename(data.path, data.path + ".away")
    done = node.ctl("warm", data.path)
    os.rename(data.path + ".away", data.path)
    expect(done.status == 1 and "No such file" in done.stderr, f"no origin: {done}")
    node.stop()
    expect(node.ctl("warm", data.path).status == 3, "no daemon")

    # Larger than the cache: said beforehand; as much as fits is brought, and nothing evicted.
    large = nodes.dataset(frames=40, name="large", sizes=(20_000,), ordinary=False)
    nodes.configure('capacity = "400kB"\n')
    node.start()
    node.ctl("evict", "--all").succeeded()
    done, figures = warm(large.path)
    expect(done.status == 1 and (figures["brought"], figures["no_room"]) == (20, 20), f"{done}")
    expect("the cache holds 400 kB at most" in done.stderr.splitlines()[0], f"{done}")
    expect(f"{large.path}: the cache is full" in done.stderr, f"{done}")
    before = node.copies(large)
    evicted = node.status()["evictions"]
    for _ in range(8):
        done, figures = warm(large.path)
        expect((figures["brought"], figures["already_there"]) == (0, 20), f"{done}")
    expect(node.copies(large) == before and node.status()["evictions"] == evicted,
           "what was brought stays")
