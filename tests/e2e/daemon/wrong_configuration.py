"""Each mistake in the configuration is refused with file, line and a hint."""
import os
import re

from nodes import SHIM, ZAZEND, Nodes
from processes import expect, run

GOOD = """node = "n0"
cache = "{top}/cache"
runtime = "{top}/run"

[[dataset]]
path = "{top}/sim1"
frames = "f{{seq}}"
"""

with Nodes(1) as nodes:
    file = nodes.path("wrong.toml")

    def check(change, line, *words):
        text = GOOD.format(top=nodes.directory)
        changed = text.replace(*change)
        expect(changed != text, f"{change} changes nothing")
        with open(file, "w") as out:
            out.write(changed)
        done = run([ZAZEND, "--config", file], nodes.env, seconds=10)
        expect(done.status == 2, f"status 2 wanted: {done}")
        first = done.stderr.splitlines()[0]
        place = f"{file}:{line}:" if line else file
        expect(first.startswith("zazend: error: ") and place in first, f"{place}: {done}")
        for word in words:
            expect(re.search(word, done.stderr), f"{word!r} is not in {done.stderr}")
        expect(not os.path.exists(nodes.path("cache")), "a refused configuration made a cache")
        shown = run(["echo", "fine"], dict(nodes.env, LD_PRELOAD=SHIM, ZAZEN_CONFIG=file))
        expect((shown.stdout, shown.stderr) == ("fine\n", ""), f"the shim: {shown}")

    second = '\n[[dataset]]\npath = "{0}"\nframes = "g{{seq}}"\n'
    end = 'frames = "f{seq}"\n'
    check(("cache =", "chace ="), 2, "chace", "hint:.*cache")
    check(("frames =", "frame ="), 7, "hint:.*frames")
    check(('"f{seq}"', '"frame.xtc"'), 7, r"\{seq\}")
    check(('"f{seq}"', '"{seq}-{seq}"'), 7, r"\{seq\}")
    check(('"f{seq}"', "7"), 7, "frames")
    check((end, end + second.format(nodes.path("sim1/part"))), None, "sim1/part", "inside")
    check((end, end + second.format(nodes.path("sim1"))), None, "sim1")
    check((end, end + second.format(nodes.path("cache/x"))), None, "cache")
    check((end, end + 'validate = "allways"\n'), 8, "hint:.*always")
    check((end, end + 'frames = "g{seq}"\n'), 8, "frames")
    check(('node = "n0"', 'node = "n0'), 1)
    check(('node = "n0"', 'listen = "7117"'), 1, "HOST:PORT")
    check(('node = "n0"', 'peers = ["n0"]'), 1, "HOST:PORT", "hint:.*unix:")
    check((f'"{nodes.directory}/sim1"', '"sim1"'), 6, "absolute")
    check((f'runtime = "{nodes.directory}/run"\n', ""), None, "runtime")

    done = run([ZAZEND, "--config", nodes.path("missing.toml")], nodes.env, seconds=10)
    expect(done.status == 2 and "missing.toml" in done.stderr, f"{done}")
