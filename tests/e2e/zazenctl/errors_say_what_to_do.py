"""An error of zazenctl has one form: subject and reason on one line, a hint on the next. Each row here
provokes one, and the commands that the hints name exist."""
import os
import re

from nodes import ZAZENCTL, Nodes
from processes import expect, run

FORM = re.compile(r"\Azazenctl: error: (\S.*): (\S.*)\nhint: (\S.*)\n\Z")
COMMAND = re.compile(r"zazenctl ([a-z]+)")

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=5)
    nodes.start()
    path, frame = data.path, data.file("f1")
    directory = nodes.path("directory")
    script = nodes.path("script")
    os.mkdir(directory)
    with open(script, "w") as file:
        file.write("true\n")
    stopped = nodes.path("stopped.toml")
    with open(node.config) as file, open(stopped, "w") as copy:
        copy.write(file.read().replace(node.runtime, nodes.path("no-daemon")))
    broken = nodes.path("broken.toml")
    with open(node.config) as file, open(broken, "w") as copy:
        copy.write("capacty = \"1GB\"\n" + file.read())

    def provoke(words, variables=None, config=node.config):
        env = dict(nodes.env, HOME=directory, **(variables or {}))
        return run([ZAZENCTL, *(["--config", config] if config else []), *words], env)

    # Words, exit status, subject, reason, hint; variables; the configuration.
    rows = [
        (["stats"], 2, "stats", "no such command", "did you mean status?"),
        (["xyzzy"], 2, "xyzzy", "no such command", "zazenctl --help lists them"),
        (["status", "--jsn"], 2, "--jsn", "no such option", "did you mean --json?"),
        (["status", "--xyzzy"], 2, "--xyzzy", "no such option", "zazenctl status --help lists them"),
        (["status", "extra"], 2, "extra", "not expected here", "zazenctl status --help shows what is"),
        (["evict"], 2, "evict", "nothing named", "--all for everything"),
        (["evict", path, "--all"], 2, "evict", "both --all and paths", "say one of them"),
        (["evict", "/nowhere"], 2, "/nowhere", f"in no dataset of {node.config}", path),
        (["ls", f"{path}/f01"], 2, f"{path}/f01", f"not a frame of {path}", "its frames are named f{seq}"),
        (["ls", frame], 1, frame, "not in the cache of n0", f"zazenctl explain {frame}"),
        (["push", frame], 2, frame, "a frame, not a dataset", f"its dataset is {path}"),
        (["push", path, "--to", "there"], 2, "there", "a node is named unix:RUNTIME or HOST:PORT", "--to unix:"),
        (["verify", path, "--frames", "9-1"], 2, "9-1", "not a range of sequence numbers", "for example 0-99"),
        (["pin", path, "x"], 2, "x", "not a range of sequence numbers", "for example 0-99"),
        (["warm", path, "--jobs", "0"], 2, "--jobs 0", "not a number of frames from 1 to", "--jobs 4"),
        (["top", "--interval", "1ms"], 2, "1ms", "not an interval between 100ms and 1h", "--interval 2s"),
        (["report", "feed"], 1, "feed", "no such job here", "zazenctl report lists"),
        (["report", "--html", "job.html", "a", "b"], 2, "--html", "it writes a page of one job",
         "zazenctl report --html job.html last"),
        (["explain", frame, "--view", directory], 1, directory, "no view of a rank that runs", "ZAZEN_VIEW"),
        (["init", f"{path}/missing"], 1, f"{path}/missing", "No such file or directory", "name the directory"),
        (["init", path, "--frames", "f"], 2, "--frames f", "not a frame name", "for example: --frames"),
        (["add", f"{path}/missing"], 1, f"{path}/missing", "No such file or directory", "name the directory"),
        (["add", path, "--frames", "f"], 2, "--frames f", "not a frame name", "for example: --frames"),
        (["add", path, "--frames", "g{seq}"], 1, path, "is a dataset with frames", "zazenctl status lists"),
        (["add", directory], 1, directory, "no files there", "--frames"),
        (["add", "--remove", path], 1, path, "no user has added it", "are the operator's"),
        (["run"], 125, "run", "no program named", "zazenctl run -- ./analyse /sim1"),
        (["run", "--", "no-such-program"], 127, "no-such-program", "No such file or directory", "./NAME"),
        (["run", "--", script], 126, script, "Permission denied", "chmod u+x"),
        (["run", "--", "/dev/null"], 126, "/dev/null", "Permission denied", "chmod u+x"),
        (["run", "--dataset", "/nowhere", "--", "true"], 125, "/nowhere", "in no dataset of", path),
        (["run", "--", "true"], 125, "ZAZEN_FILTER=perhaps", "not a value of this variable", "it may be",
         {"ZAZEN_FILTER": "perhaps"}),
        (["run", "--", "true"], 125, "ZAZEN_DATASETS: /nowhere", "no dataset of", "zazenctl status lists",
         {"ZAZEN_DATASETS": "/nowhere"}),
        (["run", "--divide", "--", "true"], 125, "run", "the job must be divided", "unset ZAZEN_DISABLE",
         {"ZAZEN_DISABLE": "1"}),
        (["status"], 3, nodes.path("no-daemon"), "no daemon answers", "zazenctl --config", {}, stopped),
        (["top", "--once"], 3, nodes.path("no-daemon"), "no daemon answers", "zazenctl --config", {}, stopped),
        (["ls"], 2, broken + ":1", "unknown key 'capacty'", "did you mean 'capacity'?", {}, broken),
        (["status"], 2, "/nowhere.toml", "No such file or directory", "zazenctl init", {}, "/nowhere.toml"),
    ]
    wrong = []
    for words, status, subject, reason, hint, *more in rows:
        done = provoke(words, *more)
        form = FORM.match(done.stderr)
        told = form is not None and subject in done.stderr and reason in done.stderr and hint in form[3]
        if not told or done.status != status or done.stdout != "":
            wrong.append(f"{words}, wanted {status} {subject!r} {reason!r} {hint!r}: {done}")
            continue
        for command in COMMAND.findall(form[3]):
            if provoke([command, "--help"]).status != 0:
                wrong.append(f"{words}: the hint names {command}: {done}")
    expect(not wrong, "\n".join(wrong))
    expect(len(rows) > 30, f"{len(rows)} rows")

    # A misspelt variable is a warning, in the same form, and the program runs.
    done = provoke(["run", "--quiet", "--", "true"], {"ZAZEN_FLTER": "on"}).succeeded()
    expect("zazenctl: warning: ZAZEN_FLTER: unknown variable, without effect\nhint: did you mean ZAZEN_FILTER?"
           in done.stderr, f"{done}")
