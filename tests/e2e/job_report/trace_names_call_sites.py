"""run --trace gives exact figures for each line of the program that opens, reads, maps and closes
frames. This holds through a library, in threads, in children, with symbols and without. The rest of
the program's behaviour stays the same."""
import os
import re
import shutil

from nodes import PROGRAMS, SOURCES, ZAZENCTL, Nodes
from processes import expect, run
from trace_output import traces_in

FRAMES, PARENTS_FRAMES, RUNS = 30, 28, 7
SIZE = 300


def lines_of(source):
    """The lines with marks, as (file, line) by mark."""
    with open(f"{SOURCES}/traced/{source}") as file:
        return {mark[1]: f"{source}:{number}" for number, line in enumerate(file, 1)
                if (mark := re.search(r"/\* mark: (.*) \*/", line))}


MARKS = {**lines_of("traced.c"), **lines_of("traced_library.c")}


def row(opens=0, hits=0, reads=0, size=0, closes=0, mapped=0):
    """A row of which half of the opens are hits, as half of the frames are cached."""
    return {"opens": opens, "hits": hits, "misses": opens - hits, "reads": reads,
            "bytes": f"{size} B" if size < 1000 else f"{size / 1000:.2f} kB", "closes": closes,
            "mapped": f"{mapped} B"}


def site(function, mark):
    return f"{function} ({MARKS[mark]})"


def around(function, mark, opens=2):
    """The opens and closes of a function that has read two frames."""
    return {site(function, f"{mark}'s open"): row(opens=opens, hits=opens // 2),
            site(function, f"{mark}'s close"): row(closes=opens)}


STREAMS = {
    **around("by_read", "read"),
    site("by_read", "read"): row(reads=6, size=2 * SIZE),
    **around("by_pread", "pread"),
    site("by_pread", "pread"): row(reads=6, size=2 * SIZE),
    **around("by_readv", "readv"),
    site("by_readv", "readv"): row(reads=2, size=2 * SIZE),
    site("by_readv", "preadv"): row(reads=2, size=400),
    **around("by_fread", "fread"),
    site("by_fread", "fread"): row(reads=6, size=2 * SIZE),
    **around("by_getline", "getline"),
}  # and the lines that getline reads
OTHERS = {
    **around("by_mmap", "mmap"),
    site("by_mmap", "mmap"): row(mapped=2 * SIZE),
    **around("by_duplicate", "duplicate"),
    site("by_duplicate", "duplicate"): row(reads=2, size=400),
    site("by_duplicate", "duplicate's other close"): row(closes=2),
    site("by_library", "library"): row(opens=2, hits=1, reads=2, size=2 * SIZE, closes=2),
    **around("carry_out", "library thread"),
    site("carry_out", "library thread"): row(reads=2, size=2 * SIZE),
    **around("h", "handler"),
    site("h", "handler"): row(reads=2, size=2 * SIZE),
    **around("thread_reads", "thread", opens=8),
    site("thread_reads", "thread"): row(reads=4000, size=4000),
}
SHOWN = 20


def getline_rows(base):
    """Of the two frames that are read by lines."""
    lines = 0
    for number in (base + 8, base + 9):
        with open(data.file(f"f{number}"), "rb") as file:
            lines += len(file.readlines())
    return {site("by_getline", "getline"): row(reads=lines, size=2 * SIZE)}


def check_rows(trace, expected, done):
    maps = any(wanted["mapped"] != "0 B" for wanted in expected.values())
    expect(trace.rows.keys() == expected.keys(),
           f"{trace.rows.keys() ^ expected.keys()}: {done}")
    for name, found in trace.rows.items():
        found = {key: value for key, value in found.items() if key not in ("time", "site")}
        wanted = expected[name] if maps else {**expected[name], "mapped": None}
        expect(found == wanted, f"{name}: {found}, not {wanted}: {done}")
    for name in ("opens", "hits", "misses", "reads"):
        total = sum(wanted[name] for wanted in expected.values())
        expect(trace.head[name] == total, f"{name}, not {total}: {done}")
    times = [float(found["time"]) for found in trace.rows.values()]
    expect(times == sorted(times, reverse=True), f"the slowest first: {done}")
    expect(abs(sum(times) - float(trace.head["time"])) < 1e-4, f"the time of all: {done}")


def check_named(program):
    base, done = traced(program, "streams")
    [trace] = traces_in(done.stderr)
    check_rows(trace, {**STREAMS, **getline_rows(base)}, done)

    _, done = traced(program, "others")
    *children, parent = traces_in(done.stderr)
    check_rows(parent, OTHERS, done)
    expect(len(children) == 2, f"three processes: {done}")
    for child, hit in zip(children, (1, 0)):
        check_rows(child, {site("child_reads", "child's open"): row(opens=1, hits=hit),
                           site("child_reads", "child"): row(reads=1, size=SIZE)}, done)
    expect(len({trace.head["pid"] for trace in (*children, parent)}) == 3, f"their own: {done}")
    expect(parent.head["mapped"] == f"{2 * SIZE} B", f"{done}")


def check_many(program):
    """The slowest call sites have rows of their own."""
    base, done = traced(program, "all")
    *_, trace = traces_in(done.stderr)
    expected = {**STREAMS, **getline_rows(base), **OTHERS}
    *shown, rest = trace.rows
    expect(len(shown) == SHOWN and set(shown) <= expected.keys(), f"{done}")
    expect(rest == f"{len(expected) - SHOWN} other call sites", f"{done}")
    for name in ("opens", "hits", "misses", "reads", "closes"):
        total = sum(wanted[name] for wanted in expected.values())
        expect(trace.sum(name) == total, f"{name}, not {total}: {done}")


def check_stripped(program):
    stripped = nodes.path(os.path.basename(program) + "-stripped")
    shutil.copy(program, stripped)
    run(["strip", "--strip-all", stripped], nodes.env).succeeded()
    _, done = traced(stripped, "all")
    *_, trace = traces_in(done.stderr)
    expect((trace.head["opens"], trace.head["hits"]) == (PARENTS_FRAMES, 14), f"{done}")
    for name in trace.rows:
        expect(re.fullmatch(r"(traced|carry_out \(traced_library).*|\d+ other call sites", name),
               f"{name}: {done}")
    name = next(name for name, found in trace.rows.items() if found["reads"] == 4000)
    module, offset = name.split("+")
    expect(module == os.path.basename(stripped), f"{name}: {done}")
    # The offset is what addr2line wants; one before it lies the call.
    where = run(["addr2line", "-i", "-e", program, hex(int(offset, 16) - 1)], nodes.env)
    expect(f"/{MARKS['thread']}" in where.succeeded().stdout, f"{where}")


def traced(program, what):
    """A run with frames of its own, half of which are cached."""
    base = next(bases)
    command = [program, data.path, str(base), what]
    plain = run(command, nodes.env)
    done = run([ZAZENCTL, "--config", node.config, "run", "--quiet", "--trace", "--", *command], nodes.env)
    expect((plain.status, plain.stderr) == (7, ""), f"{plain}")
    expect((done.status, done.stdout) == (7, plain.stdout), f"{plain} {done}")
    return base, done


with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES * RUNS, sizes=(SIZE,))
    bases = iter(range(0, FRAMES * RUNS, FRAMES))
    nodes.start()
    node = nodes[0]
    nodes.warm(node, data, [f"f{number}" for number in range(0, FRAMES * RUNS, 2)])
    check_named(f"{PROGRAMS}/traced")
    check_named(f"{PROGRAMS}/traced_no_pie")
    check_many(f"{PROGRAMS}/traced")
    check_stripped(f"{PROGRAMS}/traced")
    check_stripped(f"{PROGRAMS}/traced_no_pie")
