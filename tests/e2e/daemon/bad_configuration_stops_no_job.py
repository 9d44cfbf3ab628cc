"""A bad line in the configuration stops no job: zazenctl run warns and starts the program, with
what the daemon still has, or without Zazen. A job that must be divided ends instead."""
import json
import os

from nodes import MPIRUN, SHIM, ZAZENCTL, Nodes, program
from processes import expect, run

FRAMES = 12


def spoil(node, change=("node = ", "nod = ")):
    with open(node.config) as file:
        text = file.read()
    expect(change[0] in text, f"{change[0]!r} is not in {text}")
    with open(node.config, "w") as file:
        file.write(text.replace(*change))


with Nodes(1) as nodes:
    node, data = nodes[0], nodes.dataset(frames=FRAMES)
    nodes.configure()
    place = f"{node.config}:1: unknown key 'nod'"

    def zazenctl_run(*words, **env):
        return run([ZAZENCTL, "--config", node.config, "run", *words], dict(nodes.env, **env))

    def ends(done, *words):
        expect(done.status == 125 and done.stdout == "", f"the program must not run: {done}")
        for word in ("error: ", *words):
            expect(word in done.stderr, f"{word!r} is not in {done.stderr}")

    # Without a daemon.
    spoil(node)
    done = zazenctl_run("--", "sh", "-c", "echo out; exit 7")
    expect((done.status, done.stdout) == (7, "out\n"), f"the program's own: {done}")
    expect(done.stderr.startswith(f"zazenctl: warning: {place}"), f"{done}")
    expect("runs without Zazen" in done.stderr and "--check-config" in done.stderr, f"{done}")
    done = zazenctl_run("--dataset", data.path, "--trace", "--", "env").succeeded()
    expect("LD_PRELOAD" not in done.stdout and "ZAZEN_" not in done.stdout, f"{done}")
    expect(zazenctl_run("no-such-program").status == 127, "the shell's number")
    ends(zazenctl_run("--divide", "echo", "x"), place)
    ends(zazenctl_run("echo", "x", ZAZEN_FILTER="require"), place)
    ends(run([ZAZENCTL, "run", "--config", nodes.path("none"), "echo", "x"], nodes.env))

    # A dataset that must be divided, as far as such a file says.
    with open(node.config, "a") as file:
        file.write("\t filter= 'require'\n")
    ends(zazenctl_run("echo", "x"), place, "hint: ", "--no-divide")
    expect(zazenctl_run("--no-divide", "echo", "x").succeeded().stdout == "x\n", "its result")
    expect(zazenctl_run("echo", "x", ZAZEN_FILTER="off").succeeded().stdout == "x\n", "its result")
    spoil(node, ("\t filter=", "# filter="))
    expect(zazenctl_run("echo", "x").succeeded().stdout == "x\n", "a comment requires nothing")

    # What one rank of each host says, others need not repeat.
    done = run([MPIRUN, "-n", "3", ZAZENCTL, "--config", node.config, "run", "--", "echo", "rank"],
               nodes.env).succeeded()
    expect(done.stdout.count("rank\n") == 3, f"every rank: {done}")
    expect(done.stderr.count(place) == 1, f"one warning: {done}")

    # With a daemon: its table counts, for `run` and for the shim alone.
    nodes.configure()
    node.start()
    nodes.push(data)
    spoil(node)
    done = zazenctl_run("--report", nodes.path("r.json"), "--", "cat", data.file("f3")).succeeded()
    expect(place in done.stderr and "configuration of before" in done.stderr, f"{done}")
    with open(nodes.path("r.json")) as file:
        figures = json.load(file)
    expect(figures["hits"] == 1 and figures["misses"] == 0, f"from the cache: {figures}")
    done = run(["cat", data.file("f4")], dict(nodes.env, LD_PRELOAD=SHIM, ZAZEN_CONFIG=node.config,
                                              ZAZEN_REPORT=nodes.path("s.json"))).succeeded()
    expect(done.stderr == "", f"the shim says nothing: {done}")
    with open(nodes.path("s.json")) as file:
        expect(json.load(file)["hits"] == 1, "from the cache")
    ends(zazenctl_run("--dataset", nodes.directory, "echo", "x"), "in no dataset")
    out = nodes.path("out")
    os.mkdir(out)
    report = os.path.join(out, "report.json")
    done = run([ZAZENCTL, "--config", node.config, "run", "--divide", "--report", report, "--", MPIRUN,
                "-n", "2", *program("list_and_read_c"), data.path, out], nodes.env).succeeded()
    with open(report) as file:
        figures = json.load(file)
    expect(figures["exactly_once"] and figures["ranks"] == 2, f"it is divided: {figures}")

    # A dataset of the daemon that is divided or not at all.
    node.stop()
    data.keys = 'filter = "require"'
    nodes.configure()
    node.start()
    spoil(node)
    plan = zazenctl_run("--dry-run", "--json", "true").succeeded()
    division = json.loads(plan.stdout)["environment"]["ZAZEN_DIVISION"]
    expect(division == f"require {data.path}", f"ranks without a table end: {division}")
    node.stop()
    ends(zazenctl_run("echo", "x"), place)
