"""bash, zsh and fish complete the words of zazenctl: every command and every option that --help
lists, files where one is wanted, and the words of the program behind `run --`."""
import os
import pty
import re
import select
import shlex
import time

from nodes import ZAZENCTL, Nodes
from processes import expect, run

with Nodes(1) as nodes:
    home = nodes.path("home")
    os.makedirs(f"{home}/frames-of-sim1")
    env = dict(nodes.env, HOME=home, TERM="dumb", XDG_CONFIG_HOME=home, XDG_DATA_HOME=home,
               PATH=f"{os.path.dirname(ZAZENCTL)}:{os.environ['PATH']}")
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        scripts[shell] = f"{home}/{'_zazenctl' if shell == 'zsh' else shell}"
        with open(scripts[shell], "w") as file:
            file.write(run([ZAZENCTL, "completion", shell], env).succeeded().stdout)

    def bash(line):
        """What bash's function offers for the last word; "files" where bash completes those."""
        words = line.split(" ")
        done = run(["bash", "-c", f"""source {shlex.quote(scripts['bash'])}
            _command_offset() {{ COMPREPLY=("program at $1"); }}
            COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}
            _zazenctl; printf '%s\\n' "${{COMPREPLY[@]-files}}" """], env).succeeded()
        return done.stdout.split("\n")[:-1]

    def fish(line):
        done = run(["fish", "--no-config", "-c",
                    f"source {shlex.quote(scripts['fish'])}; complete -C {shlex.quote(line)}"], env, cwd=home)
        return [entry.split("\t")[0] for entry in done.succeeded().stdout.split("\n")[:-1]]

    def options_of(help_text):
        return re.findall(r"^  (?:-\w,)?(--[\w-]+|-\w) ", help_text, re.MULTILINE)

    whole = run([ZAZENCTL, "--help"], env).succeeded().stdout
    commands = re.findall(r"^  (\w+) {2,}", whole.partition("Commands:")[2], re.MULTILINE)
    expect(len(commands) >= 15, f"{commands}")
    for complete in (bash, fish):
        expect(set(commands) <= set(complete("zazenctl ")), f"{complete('zazenctl ')}")
        for command in commands:
            wanted = set(options_of(run([ZAZENCTL, command, "--help"], env).succeeded().stdout)) | {"--help"}
            expect("--config" in wanted or command == "completion", f"{command}: {wanted}")
            offered = complete(f"zazenctl {command} -")
            # fish offers letters in a list of their own.
            missing = {word for word in wanted if len(word) > 2 or complete is bash} - set(offered)
            expect(not missing, f"{complete.__name__} {command}: {missing} not in {offered}")

    # A command after an option with a value, a part of a word, files, the program of run.
    expect(bash("zazenctl --config FILE statu") == ["status"], f"{bash('zazenctl --config FILE statu')}")
    expect("--prometheus" in bash("zazenctl --config = FILE status --"), "bash takes FILE for a command")
    for line in ("zazenctl --config ", "zazenctl ls "):
        expect(bash(line) in (["files"], [""]), f"{line}: {bash(line)}")
    expect(bash("zazenctl run --divide -- ./analyse /si") == ["program at 4"],
           f"{bash('zazenctl run --divide -- ./analyse /si')}")
    expect("frames-of-sim1/" in fish("zazenctl ls fram"), f"{fish('zazenctl ls fram')}")
    expect("printenv" in fish("zazenctl run -- printen"), f"{fish('zazenctl run -- printen')}")

    # zsh completes at a terminal only.
    with open(f"{home}/.zshrc", "w") as file:
        file.write(f"PS1='ready> '; setopt no_prompt_cr no_prompt_sp\n"
                   f"fpath=({shlex.quote(home)} $fpath); autoload -Uz compinit; compinit -u -D\n")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execvpe("zsh", ["zsh", "-o", "no_global_rcs", "-i"], dict(env, ZDOTDIR=home))
    typed = ""

    def await_text(pattern):
        """Reads the terminal until `pattern` is there."""
        global typed
        until = time.monotonic() + 60
        while not re.search(pattern, typed):
            expect(time.monotonic() < until, f"zsh: no {pattern} in {typed!r}")
            if select.select([terminal], [], [], 0.1)[0]:
                typed += os.read(terminal, 4096).decode(errors="replace")
        typed = ""

    try:
        await_text(r"ready> ")
        for typing, completed in (("zazenctl stat\t", r"zazenctl status "),
                                  ("zazenctl status --prom\t", r"zazenctl status --prometheus "),
                                  ("zazenctl ls fram\t", r"zazenctl ls frames-of-sim1/"),
                                  ("zazenctl run --divide -- printen\t", r"-- printenv ")):
            os.write(terminal, typing.encode())
            await_text(completed)
            os.write(terminal, b"\x15")  # kill-whole-line
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
