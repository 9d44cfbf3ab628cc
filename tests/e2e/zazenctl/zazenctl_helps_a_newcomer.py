"""Every command has a help with an example. A misspelt word gets the likely spelling."""
import os

from nodes import ZAZENCTL, Nodes
from processes import expect, run

COMMANDS = ("init", "status", "top", "ls", "evict", "pin", "unpin", "push", "warm", "verify", "run", "report",
            "explain", "doctor")

with Nodes(1) as nodes:
    def zazenctl(*words):
        return run([ZAZENCTL, *words], dict(nodes.env, HOME=nodes.path("home")))

    whole = zazenctl("--help").succeeded()
    for command in COMMANDS:
        expect(f"\n  {command} " in whole.stdout, f"{command} in {whole}")
        done = zazenctl(command, "--help").succeeded()
        expect("Example:\n  " in done.stdout and "--json" in done.stdout, f"{done}")
    expect(zazenctl("--version").succeeded().stdout.startswith("zazenctl "), "version")

    for words, hint in ((("stats",), "did you mean status?"),
                        (("status", "--jsn"), "did you mean --json?"),
                        (("--cnfig", "x", "status"), "did you mean --config?"),
                        (("evict", "--all", "--natives"), "did you mean --pushed?"),
                        (("ls", "--aliens"), "did you mean --fetched?"),
                        (("status", "extra"), "--help"), ((), "--help"), (("push",), "--help"),
                        (("--config", "/nowhere", "status"), ""), (("status",), "--config")):
        if words == ("status",) and os.path.exists("/etc/zazen/zazen.toml"):
            continue  # this machine has a configuration for all
        done = zazenctl(*words)
        expect(done.status == 2 and done.stdout == "", f"wrong usage: {done}")
        expect(done.stderr.startswith("zazenctl: error: ") and hint in done.stderr, f"{done}")
