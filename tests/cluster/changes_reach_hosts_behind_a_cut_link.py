"""Every host that can be reached drops a frame that is changed through another host's shim. A host
behind a cut link, or without a daemon, learns of the change when it is back. If the sender has died
meanwhile, that host compares all its copies."""
import json
import os
import time

from hosts import Hosts, shell
from nodes import PYTHON, ZAZENCTL
from processes import expect, run, wait_until

LIMIT_SECONDS = 20  # of a busy machine; the times are printed


class QuietHosts(Hosts):
    """Nothing but a notice, or a comparison that one brings about, drops a copy."""
    def configure(self, extra=""):
        super().configure('sweep = "off"\n' + extra)


def under_shim(hosts, host, *words):
    return run(host.command([ZAZENCTL, "--config", hosts.config, "run", "--", *words]), hosts.env)


def change(hosts, host, data, name):
    program = "import sys; open(sys.argv[1], 'wb').write(b'changed')"
    under_shim(hosts, host, PYTHON, "-c", program, data.file(name)).succeeded()
    return time.monotonic()


def has_copy(host, data, name):
    return os.path.exists(host.cache + data.file(name))


def wait_for_drop(hosts, host, data, name, since, what):
    wait_until(lambda: not has_copy(host, data, name), f"{host.name} to drop {name}", LIMIT_SECONDS)
    print(f"{what}: {time.monotonic() - since:.3f} s")
    done = under_shim(hosts, host, "cat", data.file(name)).succeeded()
    expect(done.stdout == "changed", f"{host.name} reads {done}")


def why(host, data, name):
    done = host.ctl("explain", data.file(name), "--json").succeeded()
    return json.loads(done.stdout)["paths"][0]["dropped"]["why"]


def peer(host, name):
    return [one for one in host.status()["changes"]["peers"] if one["peer"].startswith(f"{name}:")][0]


def have_met(hosts):
    for host in hosts:
        status = host.status()
        if any(one["told"] == 0 or one["waiting"] for one in status["changes"]["peers"]):
            return False
        if any(dataset["checks_each_open"] for dataset in status["datasets"]):
            return False
    return True


with QuietHosts(3) as hosts:
    data = hosts.dataset(frames=8, sizes=(5000,), keys='validate = "never"')
    hosts.start()
    wait_until(lambda: have_met(hosts), "the hosts to have met")
    first, second, third = hosts
    for host in hosts:
        # Of f3 the first one has no copy, which its next life could find to be lost.
        names = data.frames - ({"f3"} if host is first else set())
        under_shim(hosts, host, "cat", *(data.file(name) for name in names)).succeeded()
        host.wait_for_copies(data, names)

    since = change(hosts, first, data, "f0")
    for host in (second, third):
        wait_for_drop(hosts, host, data, "f0", since, "reachable")
        expect(why(host, data, "f0") == "node h1 reported that it was changed", why(host, data, "f0"))

    shell(f"ip link set {third.name} down")
    since = change(hosts, first, data, "f1")
    wait_for_drop(hosts, second, data, "f1", since, "reachable, beside one that is cut off")
    wait_until(lambda: peer(first, "h3")["failure"] is not None, "h1 to notice", LIMIT_SECONDS)
    expect(peer(first, "h3")["waiting"] > 0 and peer(first, "h2")["failure"] is None, first.status())
    expect(has_copy(third, data, "f1"), "h3 was not cut off: no test")
    shell(f"ip link set {third.name} up")
    wait_for_drop(hosts, third, data, "f1", time.monotonic(), "after the link is back")
    expect(why(third, data, "f1") == "node h1 reported that it was changed", why(third, data, "f1"))

    # The receiver does not run: stopped cleanly, it would trust its copies.
    third.stop()
    since = change(hosts, first, data, "f2")
    wait_for_drop(hosts, second, data, "f2", since, "reachable, beside one that is down")
    expect(has_copy(third, data, "f2"), "somebody else dropped it: no test")
    third.start()
    wait_for_drop(hosts, third, data, "f2", time.monotonic(), "after the receiver is back")
    expect(why(third, data, "f2") == "node h1 reported that it was changed", why(third, data, "f2"))

    # A host that dies takes its unsent messages along; the kernel still sends those of a killed daemon.
    shell(f"ip link set {third.name} down")
    since = change(hosts, first, data, "f3")
    wait_for_drop(hosts, second, data, "f3", since, "reachable, beside one that is cut off")
    first.crash()
    first.boot()
    first.start()
    expect(has_copy(third, data, "f3"), "h3 was not cut off: no test")
    shell(f"ip link set {third.name} up")
    wait_for_drop(hosts, third, data, "f3", time.monotonic(), "after the link is back, the sender restarted")
    expect(why(third, data, "f3") == "it differed from the origin", why(third, data, "f3"))

    for host in hosts:
        for name in ("f4", "f5", "f6", "f7"):
            expect(has_copy(host, data, name), f"{host.name} has dropped {name}, which nobody changed")
