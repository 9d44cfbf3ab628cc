"""A small cluster on this machine: several real zazend, each with a cache and a runtime
directory of its own, below one temporary directory (D11: a node is a daemon).

    with Nodes(4) as nodes:
        data = nodes.dataset(frames=64)
        nodes.start()
        nodes.push(data)
        nodes.mpirun("list_and_read_c", data).check_exactly_once()

ZAZEN_BUILD names the build directory, ZAZEN_TEST_MPI the MPI of the ranks (openmpi, mpich), PYTHONPATH
the folders of the harness (tests/CMakeLists.txt). On leaving, every process is stopped, everything is
checked for left-overs and removed; after a failure the daemons' last words are printed.
"""
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time

from dataset import Dataset
from job import Job
from processes import Process, expect, run, session_members, wait_until

BUILD = os.path.abspath(
    os.environ.get("ZAZEN_BUILD") or sys.exit("ZAZEN_BUILD must name the build directory"))
SHIM = f"{BUILD}/preload/libzazen.so"
BUILT_ZAZEND = f"{BUILD}/daemon/zazend"
ZAZEND = os.environ.get("ZAZEN_TEST_ZAZEND") or BUILT_ZAZEND  # or what starts it, see tests/harness
ZAZENCTL = f"{BUILD}/tools/zazenctl"
MPI = os.environ.get("ZAZEN_TEST_MPI", "openmpi")
MPIRUN = shutil.which(f"mpirun.{MPI}") or "mpirun"
PROGRAMS = f"{BUILD}/tests/e2e" if MPI == "openmpi" else f"{BUILD}/tests/e2e/{MPI}"
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "programs")
PYTHON = "/usr/bin/python3"
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def is_sanitized():
    """Whether the daemon has a sanitizer's run time: it must come first, and keeps what was freed."""
    with open(BUILT_ZAZEND, "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


def program(name):
    """The command line of a program of tests/e2e/programs."""
    return [PYTHON, f"{SOURCES}/{name}"] if name.endswith(".py") else [f"{PROGRAMS}/{name}"]


def write_config(path, datasets, head):
    with open(path, "w") as file:
        file.write(head)
        for data in datasets:
            file.write(f'\n[[dataset]]\npath = "{data.path}"\nframes = "{data.template}"\n'
                       f'{data.keys}\n')


class Node:
    process = Process  # what its daemon is started by

    def __init__(self, nodes, name):
        self.name = name
        self.directory = os.path.join(nodes.directory, name)
        self.config = os.path.join(self.directory, "zazen.toml")
        self.cache = os.path.join(self.directory, "cache")
        self.runtime = os.path.join(self.directory, "run")
        self._nodes = nodes
        self._process = None
        os.mkdir(self.directory)

    def configure(self, datasets, extra="", peers=None):
        peers = json.dumps(peers or [f"unix:{node.runtime}" for node in self._nodes], ensure_ascii=False)
        write_config(self.config, datasets, f'node = "{self.name}"\ncache = "{self.cache}"\n'
                     f'runtime = "{self.runtime}"\npeers = {peers}\n{extra}')

    def start(self, before=()):
        """`before` are words in front of the daemon's, such as env NAME=VALUE."""
        self._process = self.process([*before, ZAZEND, "--config", self.config], self._nodes.env)

        def serving():
            if not self._process.running():
                process, self._process = self._process, None
                raise AssertionError(f"zazend did not start: {process.finish()}")
            return self.ctl("status").status == 0
        wait_until(serving, f"{self.name} to serve")

    def ctl(self, *words, seconds=30):
        return run([ZAZENCTL, "--config", self.config, *words], self._nodes.env, seconds=seconds)

    def status(self):
        return json.loads(self.ctl("status", "--json").succeeded().stdout)

    def status_of(self, data):
        return [d for d in self.status()["datasets"] if d["path"] == data.path][0]

    def held(self, data, kind=("native", "alien")):
        """How many frames of the dataset the node says that it holds."""
        figures = self.status_of(data)
        return sum(figures[k] for k in ([kind] if isinstance(kind, str) else kind))

    def settle(self):
        """Waits until every miss was filled or refused."""
        def settled():
            figures = self.status()
            return figures["misses"] == (figures["fills"] + figures["fills_failed"] +
                                         figures["fills_dropped"])
        wait_until(settled, f"the fills of {self.name}")

    def copies(self, data):
        """The names of the copies on its disk (D4: the same path below the cache)."""
        directory = self.cache + data.path
        found = os.listdir(directory) if os.path.isdir(directory) else []
        return set(found) - {".zazen"}

    def has_suspended(self, data):
        """Whether copies are kept from readers because somebody may write to their frames (D25)."""
        directory = self.cache + "/.zazen/suspended" + data.path
        return any(names for _, _, names in os.walk(directory))

    def counts(self, data, names):
        """Whether these copies are on its disk and counted: a name comes first, its record after."""
        waiting = f"{self.cache}{data.path}/.zazen/waiting"
        waits = len(os.listdir(waiting)) if os.path.isdir(waiting) else 0
        if not set(names) <= self.copies(data) or self.status_of(data)["waiting"] != waits:
            return False
        frames = json.loads(self.ctl("ls", data.path, "--json").succeeded().stdout)["frames"]
        return set(names) <= {frame["name"] for frame in frames}

    def wait_for_copies(self, data, names, seconds=30):
        wait_until(lambda: self.counts(data, names), f"the copies on {self.name}", seconds)

    def said(self):
        """The daemon's log so far."""
        return self._process.stderr_so_far()

    def pid(self):
        return self._process.pid

    def signal(self, number):
        self._process.signal(number)

    def kill(self):
        self._process.signal(signal.SIGKILL)
        self._process.finish()
        self._process = None

    def stop(self):
        """A clean stop, and what the daemon said; a second call does nothing."""
        if self._process is None:
            return None
        self._process.signal(signal.SIGCONT)
        self._process.signal(signal.SIGTERM)
        return self.finish()

    def finish(self):
        """The end of a daemon that has been told to stop."""
        process, self._process = self._process, None
        done = process.finish(20)
        expect(done.status == 0, f"{self.name} did not stop cleanly: {done}")
        for name in ("counters", "index", "socket"):
            left = os.path.join(self.runtime, name)
            expect(not os.path.lexists(left), f"a stopped daemon left {left}")
        return done.stderr

    def abandon(self):
        """After a failure: end it anyhow and show what it said."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill_session()
            print(f"--- {self.name}\n{process.stderr_so_far()[-3000:]}", file=sys.stderr)

    def jobs_left(self):
        jobs = os.path.join(self.runtime, "jobs")
        return os.listdir(jobs) if os.path.isdir(jobs) else []


class RunningJob:
    def __init__(self, nodes, process, data, out, node_names, report_file):
        self.out = out
        self._nodes, self._process, self._data = nodes, process, data
        self._node_names, self._report_file = node_names, report_file

    def wait_until_ready(self):
        """Every rank has written OUT/ready-N and waits for go()."""
        def ready():
            count = sum(name.startswith("ready-") for name in os.listdir(self.out))
            return count == len(self._node_names) or not self._process.running()
        wait_until(ready, "the ranks to be ready", 50)

    def go(self):
        open(os.path.join(self.out, "go"), "w").close()

    def said(self):
        """The standard error of the job so far."""
        return self._process.stderr_so_far()

    def signal(self, number):
        """To the launcher."""
        self._process.signal(number)

    def finish(self, seconds=60):
        self._nodes.running.remove(self._process)
        done = self._process.finish(seconds)
        return Job(done, self._data, self.out, self._node_names, self._report_file)

    def finish_with_ranks(self, seconds=40):
        """As finish(), where ranks leave without MPI_Finalize: when all are gone, mpirun may wait for itself
        for ever (a race in PMIx_server_finalize()), and is then ended."""
        def gone():
            ranks = [pid for pid in session_members(self._process.pid) if pid != self._process.pid]
            begun = sum(name.startswith("rank-") for name in os.listdir(self.out)) == len(self._node_names)
            return not ranks and begun or not self._process.running()
        wait_until(gone, "the ranks to be gone", seconds)
        give_up = time.monotonic() + 10
        while self._process.running() and time.monotonic() < give_up:
            time.sleep(0.05)
        self._process.kill_session()
        return self.finish()


class Nodes:
    def __init__(self, count, parent=None, name_of_directory=None):
        parent = parent or os.path.join(BUILD, "tests", "tmp")
        os.makedirs(parent, exist_ok=True)
        self._top = tempfile.mkdtemp(prefix="e2e-", dir=parent)
        self.directory = self._top
        if name_of_directory:
            self.directory = os.path.join(self._top, name_of_directory)
            os.mkdir(self.directory)
        self._scratch = os.path.join(self._top, "tmp")
        os.mkdir(self._scratch)
        self.env = self._environment()
        self.running = []
        self.datasets = []
        self._jobs = 0
        self._nodes = [self._make_node(i) for i in range(count)]

    def _make_node(self, number):
        return Node(self, f"n{number}")

    def __getitem__(self, index):
        return self._nodes[index]

    def __iter__(self):
        return iter(self._nodes)

    def __len__(self):
        return len(self._nodes)

    def _environment(self):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("ZAZEN_", "OMPI_", "PMIX_", "PMI_")) and key != "LD_PRELOAD"}
        env.update(
            LC_ALL="C.UTF-8", TMPDIR=self._scratch, PYTHONDONTWRITEBYTECODE="1",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
            OMPI_MCA_hwloc_base_binding_policy="none", OMPI_MCA_btl="self,vader",
            OMPI_MCA_btl_vader_single_copy_mechanism="none",
            OMPI_MCA_btl_vader_backing_directory=self._scratch)
        return env

    def dataset(self, frames, name="sim1", **options):
        data = Dataset(os.path.join(self.directory, "origin", name), frames, **options)
        self.datasets.append(data)
        return data

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def configure(self, extra=""):
        for node in self:
            node.configure(self.datasets, extra)

    def start(self):
        self.configure()
        for node in self:
            node.start()

    def push(self, data, *options):
        """Round robin over all nodes, as natives; returns zazenctl's own figures."""
        done = self[0].ctl("push", data.path, "--json", *options, seconds=100).succeeded()
        return json.loads(done.stdout)

    def shim(self, node, **more):
        """The environment that puts a program under the shim of this node."""
        return dict(LD_PRELOAD=SHIM, ZAZEN_CONFIG=node.config, **more)

    def serial(self, node, argv, cwd=None, **more):
        return run(argv, dict(self.env, **self.shim(node, **more)), cwd=cwd)

    def warm(self, node, data, names):
        """Reads these frames through the shim on one node and waits for the fills."""
        self.serial(node, ["cat", *(data.file(name) for name in names)]).succeeded()
        node.wait_for_copies(data, names)

    def start_mpirun(self, programs, data, ranks=2, shims=None, env=None, before=(), after=()):
        """Starts `ranks` ranks on each node (or a list of numbers, one for each node).

        `programs` is one program or one for each node; `shims` says for each node whether its
        ranks have the shim, or gives a dictionary of variables that are added for them.
        """
        out, report_file = self.output_of_a_job()
        counts = [ranks] * len(self) if isinstance(ranks, int) else ranks
        programs = [programs] * len(self) if isinstance(programs, str) else programs
        shims = shims or [True] * len(self)
        argv, node_names = [MPIRUN], []
        for node, count, name, shim in zip(self, counts, programs, shims):
            if count == 0:
                continue
            variables = dict(env or {}, ZAZEN_REPORT=report_file)
            if shim:
                variables.update(self.shim(node))
            if isinstance(shim, dict):
                variables.update(shim)
            argv += [":"] if len(argv) > 1 else []
            argv += ["-n", str(count), *before, "env"]
            argv += [f"{key}={value}" for key, value in variables.items()]
            argv += [*program(name), data.path, out, *after]
            node_names += [node.name if shim else None] * count
        return self.start_job(argv, self.env, data, out, node_names, report_file)

    def output_of_a_job(self):
        """A directory for what the ranks write, and the name of the report in it."""
        self._jobs += 1
        out = os.path.join(self._top, f"out-{self._jobs}")
        os.mkdir(out)
        return out, os.path.join(out, "report.json")

    def start_job(self, argv, env, data, out, node_names, report_file):
        process = Process(argv, env, cwd=out)
        self.running.append(process)
        return RunningJob(self, process, data, out, node_names, report_file)

    def mpirun(self, *positional, seconds=60, **named):
        return self.start_mpirun(*positional, **named).finish(seconds)

    def held(self, data, kind=("native", "alien")):
        return sum(node.held(data, kind) for node in self)

    def wait_for_aliens(self, data, count):
        wait_until(lambda: self.held(data, "alien") == count, f"{count} aliens")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for process in self.running:
            process.kill_session()
        try:
            if kind is None:
                for node in self:
                    node.stop()
                self._check_left_overs()
        finally:
            for node in self:
                node.abandon()
            shutil.rmtree(self._top)

    def _check_left_overs(self):
        for node in self:
            expect(not node.jobs_left(), f"{node.name} has views of dead jobs")
        views = [name for name in os.listdir(self._scratch) if name.startswith("zazen")]
        expect(not views, f"left in TMPDIR: {views}")
        for node in self:
            temporary = [os.path.join(top, name) for top, _, names in os.walk(node.cache)
                         for name in names if re.search(r"tmp|\.[A-Za-z0-9]{6}$", name)]
            expect(not temporary, f"temporary files in the cache: {temporary}")
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read()
            except OSError:
                continue
            expect(self._top.encode() not in words or int(entry) == os.getpid(),
                   f"process {entry} is left: {words}")
