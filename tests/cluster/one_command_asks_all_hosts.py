"""From a host without a daemon one command asks all hosts over TCP with the key. A host behind a cut link, one
with a dead daemon and one with a stopped daemon are named; the others answer. Another key opens nothing."""
import json
import os
import re
import signal

from hosts import Hosts, child_of, shell
from nodes import ZAZENCTL
from processes import expect, run


def ask(hosts, *words, config=None):
    return run([ZAZENCTL, "--config", config or hosts.config, *words], hosts.env, seconds=60)


def states(done):
    """{host: state} of a table of status."""
    lines = done.stdout.split("\n\n")[1].splitlines()
    return {line.split()[0]: re.split(" {2,}", line)[1] for line in lines[1:]}


with Hosts(4) as hosts:
    data = hosts.dataset(frames=8, sizes=(5000,))
    hosts.start()
    names = [host.name for host in hosts]
    done = ask(hosts, "status", "--all").succeeded()
    expect(states(done) == dict.fromkeys(names, "healthy"), f"{done}")
    done = ask(hosts, "status", "--nodes", "h[2-3]", "--json").succeeded()
    answers = json.loads(done.stdout)["nodes"]
    expect([(node["node"], node["status"]["node"]) for node in answers] == [("h2", "h2"), ("h3", "h3")], f"{done}")

    # Frames are brought, listed and evicted where they are wanted, from any host.
    done = ask(hosts, "warm", data.path, "--nodes", "h[1-4]").succeeded()
    expect([host.held(data) for host in hosts] == [2, 2, 2, 2], f"{done}")
    hosts[3].ctl("evict", data.path, "--nodes", "h1,h2").succeeded()
    expect([host.held(data) for host in hosts] == [0, 0, 2, 2], "evict")

    # Another key.
    other = hosts.path("other.toml")
    with open(hosts.config) as file:
        text = re.sub(r'key_file = ".*"', f'key_file = "{hosts.path("other-key")}"', file.read())
    with open(hosts.path("other-key"), "wb") as file:
        file.write(os.urandom(32))
    os.chmod(hosts.path("other-key"), 0o600)
    with open(other, "w") as file:
        file.write(text)
    for words in (("status",), ("evict", data.path)):
        done = ask(hosts, *words, "--nodes", "all", config=other)
        said = done.stdout + done.stderr
        expect(done.status == 1 and said.count("is the key the same on both machines?") == 4, f"{done}")
    expect([host.held(data) for host in hosts] == [0, 0, 2, 2], "a stranger evicts")

    # One is cut off, one is dead, one is stopped.
    shell(f"ip link set {hosts[1].name} down")
    hosts[2].kill()
    os.kill(child_of(hosts[3].pid()), signal.SIGSTOP)  # and nsenter stops as it does
    done = ask(hosts, "status", "--all", "--timeout", "2s")
    expect(done.status == 1, f"{done}")
    expect(states(done) == dict(zip(names, ["healthy", "no answer", "no answer", "no answer"])), f"{done}")
    expect(f"\n{names[2]}: no daemon answers there\n" in done.stdout, f"{done}")
    expect(f"\n{names[3]}: no answer within 2 s\n" in done.stdout, f"{done}")
    done = ask(hosts, "verify", data.path, "--nodes", "h[1-4]", "--timeout", "2s")
    expect(done.status == 1 and done.stderr.count(": no ") == 3, f"{done}")
    expect(ask(hosts, "status", "--nodes", "h[2-4]", "--timeout", "2s").status == 3, "nobody answers")
    hosts[3].signal(signal.SIGCONT)
    shell(f"ip link set {hosts[1].name} up")
    hosts[2].start()
