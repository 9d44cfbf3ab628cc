"""Slurm on the hosts of hosts.py: slurmctld and munged on the script's own host, slurmd on the others.

    with Hosts(3) as hosts:
        data = hosts.dataset(frames=24)
        hosts.start()
        with Slurm(hosts) as slurm:
            slurm.srun("list_and_read_c", data).check_exactly_once()
"""
import os
import shutil
import signal
import sys

from hosts import OnHost, behind, two_on_each
from nodes import MPI, MPIRUN, skip
from processes import Process, run, wait_until

if not all(map(shutil.which, ("munged", "slurmctld", "slurmd", "srun"))):
    skip("needs munge, slurmctld, slurmd and slurm-client")

CONFIG = """\
ClusterName=zazen
SlurmctldHost=login
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={directory}/munge.socket
StateSaveLocation={directory}/state
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={disk}/slurmd.pid
SlurmdSpoolDir={disk}/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SlurmdParameters=config_overrides
NodeName=h[1-{hosts}] CPUs=8
PartitionName=all Nodes=ALL Default=YES
"""


class Slurm:
    def __init__(self, hosts):
        self._hosts = hosts
        self._directory = hosts.path("slurm")
        self._processes = []
        self._env = dict(hosts.env, SLURM_CONF=f"{self._directory}/slurm.conf")

    def __enter__(self):
        os.makedirs(f"{self._directory}/state")
        self._write("slurm.conf", CONFIG.format(directory=self._directory, disk=self._hosts.disk,
                                                hosts=len(self._hosts)))
        self._write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self._write("mpi.conf", f"PMIxCliTmpDirBase={self._hosts.disk}/tmp\n")  # the hosts share /tmp
        try:
            self._start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def _start(self):
        key, socket = self._write("munge.key", os.urandom(1024).hex()), f"{self._directory}/munge.socket"
        os.chmod(key, 0o600)
        self._processes.append(Process(
            ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket}",
             *(f"--{name}-file={self._directory}/munged.{name}" for name in ("pid", "seed", "log"))],
            self._env))
        wait_until(lambda: os.path.exists(socket), "munged")
        self._processes.append(Process(["slurmctld", "-D"], self._env))
        for host in self._hosts:
            self._processes.append(OnHost(host.command(["slurmd", "-D", "-N", host.name]), self._env))

        def idle():
            states = run(["sinfo", "--noheader", "--Node", "--format=%T"], self._env).stdout.split()
            return states == ["idle"] * len(self._hosts)
        wait_until(idle, "Slurm")

    def _write(self, name, text):
        path = os.path.join(self._directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start_srun(self, name, data, arranged=behind, hosts=None, env=None, after=()):
        """Two ranks on each of these hosts, or of all."""
        plugin = "--mpi=pmi2" if MPI == "mpich" else "--mpi=pmix"
        return self._start_job(["srun", plugin], [], name, data, arranged, hosts, env or {}, after)

    def srun(self, *positional, seconds=60, **named):
        return self.start_srun(*positional, **named).finish(seconds)

    def salloc(self, name, data, hosts=None):
        """mpirun in an allocation, which tells it where its ranks go."""
        return self._start_job(["salloc"], [MPIRUN], name, data, behind, hosts, {}).finish()

    def _start_job(self, how, words, name, data, arranged, hosts, env, after=()):
        hosts = hosts or list(self._hosts)
        where = [f"--nodelist={','.join(host.name for host in hosts)}", f"--nodes={len(hosts)}",
                 f"--ntasks={2 * len(hosts)}", "--ntasks-per-node=2"]
        return self._hosts.launch(arranged([*how, *where, *words]), name, data, two_on_each(hosts),
                                  dict(self._env, **env), after)

    def without_shim(self, rank):
        """An arrangement in which one rank has the program alone."""
        def arranged(launcher):
            def arrangement(shim, command):
                programs = self._write("programs", f"{rank} {' '.join(command)}\n"
                                       f"* {' '.join([*shim, *command])}\n")
                return [*launcher, "--multi-prog", programs]
            return arrangement
        return arranged

    def __exit__(self, kind, error, trace):
        for process in reversed(self._processes):
            process.signal(signal.SIGTERM)
            done = process.finish(20)
            if kind is not None:
                print(f"--- {' '.join(done.argv)}\n{done.stderr[-3000:]}", file=sys.stderr)
