"""Several hosts on this machine. Each has a network, a name, processes and mounts of its own, a zazend,
and a disk that no other one sees; a switch joins them, and the origin is shared.

    with Hosts(4) as hosts:
        data = hosts.dataset(frames=64)
        hosts.start()
        hosts.push(data)
        hosts.mpirun("list_and_read_c", data).check_exactly_once()

All have the same configuration file, and their names from the kernel. The script runs on one more
host, without a daemon, from which frames are pushed and jobs are started. Importing this module moves
it there: what it makes is not seen outside, and ends with it, however it ends.
"""
import json
import os
import shutil
import signal
import subprocess
import sys

from nodes import MPI, MPIRUN, ZAZENCTL, Node, Nodes, program, skip, write_config
from processes import Process, expect, run, wait_until

NEW_HOST = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--mount-proc", "--fork",
            "--kill-child"]
RSH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rsh")
INSIDE = "ZAZEN_TEST_INSIDE"
NETWORK = "10.77.0"
PORT = 7117


def move_to_a_host():
    if os.environ.pop(INSIDE, None):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return
    if os.geteuid() != 0:
        skip("only root can make hosts")
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        skip("needs util-linux and iproute2")
    probe = subprocess.run([*NEW_HOST, "ip", "link", "add", "switch", "type", "bridge"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        skip(f"no hosts can be made here: {probe.stderr}")
    os.environ[INSIDE] = "1"
    os.execvp(NEW_HOST[0], [*NEW_HOST, sys.executable, *sys.argv])


move_to_a_host()


def shell(*lines, where=()):
    """Lines of a shell, each of which must succeed; `where` are words in front of it."""
    done = subprocess.run([*where, "sh", "-e"], input="\n".join(lines), capture_output=True, text=True)
    expect(done.returncode == 0, f"{lines}: {done.stderr}")


def behind(launcher):
    """`zazenctl run` behind the launcher."""
    return lambda shim, command: [*launcher, *shim, *command]


def in_front(launcher):
    return lambda shim, command: [*shim, *launcher, *command]


def two_on_each(hosts):
    """The hosts of ranks 0, 1, 2 and so on."""
    return [host.name for host in hosts for _ in range(2)]


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    return int(children[0]) if children else None


class OnHost(Process):
    """nsenter waits for the program, its child, and ends and stops as that does: signals are for the
    child, and nsenter goes on."""

    def signal(self, number):
        if self.running() and child_of(self.pid):
            os.kill(child_of(self.pid), number)
            os.kill(self.pid, signal.SIGCONT)


class Host(Node):
    process = OnHost

    def __init__(self, hosts, number):
        super().__init__(hosts, f"h{number}")
        os.mkdir(os.path.join(self.directory, "tmp"))
        self.config = hosts.config
        self.address = f"{NETWORK}.{number}"
        self._init = None

    def boot(self):
        # Its first process only sleeps; children that it inherits are not waited for.
        self._init = Process([*NEW_HOST, "env", "--ignore-signal=CHLD", "sleep", "infinity"],
                             self._nodes.env)
        wait_until(lambda: child_of(self._init.pid), f"{self.name} to boot")
        pid = child_of(self._init.pid)
        with open(self._nodes.path("pids", self.name), "w") as file:
            file.write(f"{pid}\n")
        self._namespace = os.readlink(f"/proc/{pid}/ns/pid")
        self._enter = ["nsenter", "--target", str(pid), "--net", "--uts", "--ipc", "--mount", "--pid",
                       "--"]
        shell(f"ip link add {self.name} type veth peer name eth0 netns {pid}",
              f"ip link set {self.name} master switch up")
        shell(f"hostname {self.name}", "ip link set lo up", "ip link set eth0 up",
              f"ip address add {self.address}/24 dev eth0",
              "mount -t tmpfs -o mode=1777 shm /dev/shm",
              f"mount --bind {self.directory} {self._nodes.disk}",
              *(f"mount -t tmpfs hidden {host.directory}" for host in self._nodes),
              where=self._enter)

    def command(self, argv):
        """The words that run this on the host."""
        return [*self._enter, *argv]

    def start(self, before=()):
        super().start(self.command(before))

    def ctl(self, *words, seconds=30):
        return run(self.command([ZAZENCTL, "--config", self.config, *words]), self._nodes.env,
                   seconds=seconds)

    def processes(self):
        """The command lines of what runs there, but for the first process and zazend's workers."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/comm") as file:
                    if file.read().startswith("zazend-"):
                        continue
                if os.readlink(f"/proc/{entry}/ns/pid") == self._namespace:
                    with open(f"/proc/{entry}/cmdline") as file:
                        found.append(file.read().replace("\0", " ").strip())
            except OSError:
                continue
        return [words for words in found if words and not words.endswith("sleep infinity")]

    def crash(self):
        """Every process there is killed, and nobody is told; what was in memory is gone."""
        self._power_off()
        self._process.finish()
        self._process = None
        shutil.rmtree(self.runtime)

    def abandon(self):
        super().abandon()
        if self._init is not None:
            self._power_off()

    def _power_off(self):
        self._init.signal(signal.SIGKILL)
        self._init.finish()
        self._init = None
        wait_until(lambda: not self.processes(), f"the end of {self.name}")
        shell(f"ip link delete {self.name} || true")  # the kernel is slow, and may be first


class Hosts(Nodes):
    def __init__(self, count):
        super().__init__(count)
        for name in ("disk", "disk/tmp", "pids"):
            os.mkdir(self.path(name))
        del self.env["OMPI_MCA_btl_vader_backing_directory"]
        self.env.update(TMPDIR=self.path("disk", "tmp"), TEST_HOSTS_PIDS=self.path("pids"),
                        OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_plm_rsh_agent=RSH,
                        OMPI_MCA_plm_rsh_no_tree_spawn="1")

    @property
    def config(self):
        return self.path("zazen.toml")

    @property
    def disk(self):
        """Where each host has its disk."""
        return self.path("disk")

    def _make_node(self, number):
        return Host(self, number + 1)

    def configure(self, extra=""):
        key = self.path("key")
        with open(key, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(os.urandom(32))
        peers = json.dumps([f"{host.name}:{PORT}" for host in self])
        write_config(self.config, self.datasets,
                     f'cache = "{self.disk}/cache"\nruntime = "{self.disk}/run"\n'
                     f'listen = "0.0.0.0:{PORT}"\nkey_file = "{key}"\npeers = {peers}\n{extra}')

    def start(self):
        self.configure()
        self._connect()
        for host in self:
            host.boot()
        for host in self:
            host.start()

    def _connect(self):
        names = self.path("hosts")
        with open(names, "w") as file:
            file.write(f"127.0.0.1 localhost\n{NETWORK}.250 login\n")
            file.writelines(f"{host.address} {host.name}\n" for host in self)
        # Without an address of its own a bridge takes the lowest of its ports', and another one when that host dies:
        # the others then send to an address that nobody has, for up to a minute.
        shell("hostname login", "ip link set lo up",
              "ip link add switch address 02:00:00:00:00:01 type bridge", "ip link set switch up",
              f"ip address add {NETWORK}.250/24 dev switch",
              f"mount --bind {names} /etc/hosts")

    def push(self, data, *options):
        done = run([ZAZENCTL, "--config", self.config, "push", data.path, "--json", *options], self.env)
        return json.loads(done.succeeded().stdout)

    def start_mpirun(self, name, data, hosts=None, arranged=behind, after=()):
        """Two ranks on each of these hosts, or of all."""
        hosts = hosts or list(self)
        where = ",".join(f"{host.name}:2" for host in hosts)
        how = ["-launcher", "rsh", "-launcher-exec", RSH, "-hosts"] if MPI == "mpich" else ["--host"]
        return self.launch(arranged([MPIRUN, *how, where, "-n", 2 * len(hosts)]), name, data,
                           two_on_each(hosts), after=after)

    def launch(self, arrangement, name, data, places, env=None, after=()):
        """A job by any launcher; `places` are the names of the ranks' hosts."""
        out, report_file = self.output_of_a_job()
        shim = [ZAZENCTL, "--config", self.config, "run", "--quiet", "--report", report_file, "--"]
        argv = arrangement(shim, [*program(name), data.path, out, *after])
        return self.start_job(argv, dict(self.env, **(env or {})), data, out, places, report_file)

    def _check_left_overs(self):
        for host in self:
            left = host.processes() + [name for name in os.listdir(os.path.join(host.directory, "tmp"))
                                       if name.startswith("zazen")]
            expect(not left, f"left on {host.name}: {left}")
        super()._check_left_overs()
