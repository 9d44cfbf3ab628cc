"""zazenctl start, stop and reload. start says what runs, stop waits for the end, and reload returns
what changed, or the line and the reason of the error. A daemon that systemd runs is left alone."""
import json
import os
import re
import signal

from nodes import ZAZEND, ZAZENCTL, Nodes
from processes import Process, expect, run, wait_until

STATED = re.compile(r"zazend (serves|already runs in) (\S+): pid (\d+), log: (.*)\n")


def pid_of(done, words, log):
    found = STATED.fullmatch(done.succeeded().stdout)
    expect(found and (found[1], found[4]) == (words, log), f"{done}")
    return int(found[3])


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}/exe")


def text_of(path):
    with open(path) as file:
        return file.read()


def has_pending(pid, number):
    """Whether the process, which is stopped, has not taken this signal yet."""
    pending = re.search(r"^ShdPnd:\s*([0-9a-f]+)$", text_of(f"/proc/{pid}/status"), re.MULTILINE)
    return int(pending[1], 16) >> (number - 1) & 1 == 1


def waits(pid):
    """Whether it is in poll(), the system call 7 of x86-64."""
    return text_of(f"/proc/{pid}/syscall").startswith("7 ")


with Nodes(1) as nodes:
    node = nodes[0]
    try:
        data, more = nodes.dataset(frames=2), nodes.dataset(frames=1, name="sim2")
        node.configure([data])

        done = node.ctl("stop").succeeded()
        expect(done.stdout == f"no zazend runs in {node.runtime}\n", f"{done}")
        done = node.ctl("stop", "--json").succeeded()
        expect(json.loads(done.stdout)["stopped"] is False, f"{done}")
        done = node.ctl("reload")
        expect(done.status == 3 and "no daemon answers" in done.stderr and "\nhint: " in done.stderr, f"{done}")

        log = f"{node.runtime}/log"
        pid = pid_of(node.ctl("start"), "serves", log)
        expect(node.status()["pid"] == pid, "the daemon that was started is another one")
        expect(pid_of(node.ctl("start"), "already runs in", log) == pid, "a second daemon")
        said = json.loads(node.ctl("start", "--json").succeeded().stdout)
        expect((said["pid"], said["started"], said["log"]) == (pid, False, log), f"{said}")

        # A reload: what is new, what is gone, which keys.
        expect("no change" in node.ctl("reload").succeeded().stdout, "nothing was changed")
        node.configure([data, more], "capacity = 1000000000\nlisten = \"127.0.0.1:1\"\n")
        done = node.ctl("reload").succeeded()
        lines = [line.split() for line in done.stdout.splitlines()]
        for line in (["reloaded", f"{node.config}:", "2", "datasets"], ["added", more.path],
                     ["changed", "capacity"], ["restart", "listen"]):
            expect(line in lines, f"{line}: {done}")
        expect("hint: zazenctl stop && zazenctl start" in done.stderr, f"{done}")
        expect(len(node.status()["datasets"]) == 2, "the dataset is not served")
        more.keys = "fill = \"wait\""
        node.configure([more], "capacity = 1000000000\n")
        said = json.loads(node.ctl("reload", "--json").succeeded().stdout)
        expect((said["added"], said["removed"]) == ([], [data.path]), f"{said}")
        expect(said["changed"] == [{"dataset": more.path, "key": "fill"}], f"{said}")
        expect((said["needs_restart"], said["error"]) == ([], None), f"{said}")

        # An error: file, line, reason, and a status of 1. The file need not be readable for zazenctl.
        with open(node.config) as file:
            good = file.read()
        with open(node.config, "w") as file:
            file.write(good.replace("capacity", "capacty"))
        line = good[:good.index("capacity")].count("\n") + 1
        done = node.ctl("reload")
        expect(done.status == 1 and done.stdout == "", f"{done}")
        expect(f"{node.config}:{line}: unknown key 'capacty'" in done.stderr, f"{done}")
        expect("\nhint: did you mean 'capacity'?" in done.stderr, f"{done}")
        done = node.ctl("reload", "--json")
        expect(done.status == 1 and f":{line}: " in json.loads(done.stdout)["error"]["reason"], f"{done}")
        expect(len(node.status()["datasets"]) == 1, "a wrong file has changed something")

        # The end: also with the wrong file, and it is awaited.
        done = node.ctl("stop").succeeded()
        expect(re.fullmatch(rf"{re.escape(node.runtime)}: zazend \(pid {pid}\) ended after \d+\.\d\d s\n",
                            done.stdout), f"{done}")
        expect(is_gone(pid), "stop has not waited")
        expect("event=stopped" in text_of(log), "no clean end")

        # A start that fails says why.
        done = node.ctl("start")
        expect(done.status == 2 and "unknown key 'capacty'" in done.stderr, f"{done}")
        with open(node.config, "w") as file:
            file.write(good.replace("[[dataset]]", "listen = \"192.0.2.1:1\"\nkey_file = \"/nowhere\"\n[[dataset]]"))
        done = node.ctl("start")
        expect(done.status == 1 and "zazend: error: " in done.stderr and "/nowhere" in done.stderr, f"{done}")

        # As systemd starts it: the process is told that it is the unit's (SYSTEMD_EXEC_PID).
        node.configure([data])
        unit = Process(["sh", "-c", f'SYSTEMD_EXEC_PID=$$ exec {ZAZEND} --config {node.config}'], nodes.env)
        nodes.running.append(unit)
        wait_until(lambda: node.ctl("status").status == 0, "the daemon to serve")
        done = node.ctl("stop")
        expect(done.status == 1 and "is run by systemd" in done.stderr, f"{done}")
        expect(re.search(r"\nhint: systemctl stop zazend\n", done.stderr), f"{done}")
        expect(unit.running() and node.ctl("reload").status == 0, "a unit's daemon was stopped")
        unit.signal(signal.SIGTERM)
        nodes.running.remove(unit)
        unit.finish().succeeded()

        # A unit of the user that is enabled starts it.
        home = nodes.path("home")
        config = f"{home}/.config/zazen/zazen.toml"
        wants = f"{home}/.config/systemd/user/default.target.wants"
        for directory in (os.path.dirname(config), wants, f"{home}/run/systemd"):
            os.makedirs(directory)
        os.symlink(node.config, config)
        for made in (f"{wants}/zazend.service", f"{home}/run/systemd/private"):
            open(made, "w").close()
        done = run([ZAZENCTL, "start"], dict(nodes.env, HOME=home, XDG_RUNTIME_DIR=f"{home}/run"))
        expect(done.status == 1 and "hint: systemctl --user start zazend" in done.stderr, f"{done}")
        expect(node.ctl("status").status == 3, "it was started all the same")

        # A daemon that does not end: zazenctl waits for the state, not for an answer.
        pid = pid_of(node.ctl("start"), "serves", log)
        os.kill(pid, signal.SIGSTOP)
        stop = Process([ZAZENCTL, "--config", node.config, "stop"], nodes.env)
        nodes.running.append(stop)
        wait_until(lambda: has_pending(pid, signal.SIGTERM), "the signal")
        wait_until(lambda: waits(stop.pid), "zazenctl to wait")
        os.kill(pid, signal.SIGCONT)
        nodes.running.remove(stop)
        stop.finish().succeeded()
        expect(is_gone(pid), "the daemon lives")
    finally:
        node.ctl("stop")  # after a failure
