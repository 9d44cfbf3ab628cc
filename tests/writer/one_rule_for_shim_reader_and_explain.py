"""In each state of the cache a program under the shim, a program with libbodhi's reader and
`zazenctl explain` agree whether a copy may be served. Both programs get the same bytes.

By design they differ in three states, and the test says where. ZAZEN_DISABLE is the shim's
variable, and a program uses the reader by itself. A frame has one name for the reader, the dataset
as configured and a number, so it knows neither other spellings nor ordinary files."""
import hashlib
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
import time

from bodhi_library import LIBRARY, Bodhi, BodhiError, frame_bytes
from nodes import BUILD, PYTHON, SHIM, ZAZENCTL, Nodes
from processes import Process, expect, run, wait_until

OLD = (1e9, 1e9)
FIU = "/usr/lib/fiu/fiu_run_preload.so:/usr/lib/fiu/fiu_posix_preload.so"
EIO = 5


def read_as_a_program(config, dataset, seq):
    """The small program with the reader: where the bytes come from, and their checksum."""
    try:
        with Bodhi(config) as reader:
            fd = reader.open_frame(dataset, int(seq))
    except BodhiError as error:
        print(json.dumps({"error": str(error)}))
        return
    with os.fdopen(fd, "rb") as file:
        print(json.dumps({"path": os.readlink(f"/proc/self/fd/{fd}"),
                          "sum": hashlib.sha256(file.read()).hexdigest()}))


if len(sys.argv) > 1:
    read_as_a_program(*sys.argv[1:])
    sys.exit(0)


class Asker:
    """The three, each as a program that starts now; `prefix` are words in front of each."""

    def __init__(self, nodes, node, prefix=(), shim=SHIM, ctl=ZAZENCTL, script=__file__, build=BUILD):
        self.nodes, self.node, self.prefix = nodes, node, list(prefix)
        self.shim_file, self.ctl, self.script = shim, ctl, script
        self.env, self.build = nodes.env, build

    def shim(self, path, before=(), **env):
        """(verdict, checksum) of sha256sum behind the shim, by its own report."""
        directory = tempfile.mkdtemp(dir=self.nodes.path())
        os.chmod(directory, 0o777)
        report = os.path.join(directory, "report")
        done = run([*before, *self.prefix, "env", f"LD_PRELOAD={self.shim_file}",
                    f"ZAZEN_CONFIG={self.node.config}", f"ZAZEN_REPORT={report}", "sha256sum", path],
                   dict(self.env, **env))
        figures = {"hits": 0, "misses": 0}
        if os.path.exists(report):
            with open(report) as file:
                figures = json.load(file)
        shutil.rmtree(directory)
        if done.status != 0:
            return "nothing", None
        expect(figures["hits"] + figures["misses"] <= 1, f"{figures}")
        return "cache" if figures["hits"] else "origin", done.stdout.lstrip("\\").split()[0]

    def reader(self, dataset, seq, **env):
        done = run([*self.prefix, PYTHON, self.script, self.node.config, dataset, str(seq)],
                   dict(self.env, ZAZEN_BUILD=self.build, **env)).succeeded()
        said = json.loads(done.stdout)
        if "error" in said:
            return "nothing", None
        return "cache" if said["path"].startswith(self.node.cache) else "origin", said["sum"]

    def explain(self, path, words=(), **env):
        done = run([*self.prefix, self.ctl, "--config", self.node.config, "explain", "--json",
                    *words, path], dict(self.env, **env)).succeeded()
        return json.loads(done.stdout)["paths"][0]


states = 0


def expect_same(asker, what, pair, verdict, seq=0, sums=None, because="", checked=""):
    """pair: two datasets in the same state, for an open may change it; explain changes nothing."""
    global states
    states += 1
    name = pair[0].template.format(seq=seq)
    for data in pair:
        said = asker.explain(data.file(name))
        expect(said["reads"] == verdict and because in said["because"] and
               checked in said.get("checked", ""), f"{what}: explain says {said}, not {verdict}")
    if sums is None:
        sums = [None if verdict == "nothing" else
                hashlib.sha256(frame_bytes(data, seq)).hexdigest() for data in pair]
    got = asker.shim(pair[0].file(name))
    expect(got == (verdict, sums[0]), f"{what}: the shim gives {got}, not {verdict} {sums[0]}")
    got = asker.reader(pair[1].path, seq)
    expect(got == (verdict, sums[1]), f"{what}: the reader gives {got}, not {verdict} {sums[1]}")


def alter_copy(node, data, alter):
    """A copy is never writable, and its owner may need that to alter it."""
    path = node.cache + data.file("f0")
    mode = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, mode | stat.S_IWUSR)
    alter(path)
    os.chmod(path, mode)


def append(path):
    times = os.stat(path)
    with open(path, "ab") as file:
        file.write(b"more")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replace(path):
    """Other bytes of the same size and times, in another file."""
    times = os.stat(path)
    with open(path, "rb") as file, open(path + ".new", "wb") as new:
        new.write(bytes(byte ^ 1 for byte in file.read()))
    os.utime(path + ".new", ns=(times.st_atime_ns, times.st_mtime_ns))
    os.rename(path + ".new", path)


class Pairs:
    """Two datasets for each state: one for the shim, one for the reader."""

    def __init__(self, nodes):
        self.nodes, self.all = nodes, {}

    def add(self, name, frames=3, **options):
        self.all[name] = tuple(
            self.nodes.dataset(frames, name=f"{name}-{who}", sizes=(20_000,), ordinary=False,
                               seed=len(self.all), **options) for who in ("shim", "reader"))
        for data in self.all[name]:
            for frame in data.frames:
                os.utime(data.file(frame), OLD)

    def __getitem__(self, name):
        return self.all[name]


ORIGIN_CHANGES = {
    "size": append,
    "mtime": lambda path: os.utime(path, (2e9, 2e9)),
    "ctime": lambda path: os.chmod(path, 0o640),
    "ino": replace,
}


def while_stopped(node, seqs, ask):
    """ask(seq) of a daemon that is stopped, and whose last heartbeat still counts: so again, with
    another frame, if that took too long."""
    for seq in seqs:
        node.signal(signal.SIGCONT)
        node.status()
        node.signal(signal.SIGSTOP)
        begun = time.monotonic()
        answer = ask(seq)
        if time.monotonic() - begun < 4:
            return answer
    raise AssertionError("this machine is too slow")


def stopped_states(asker, pairs):
    """The table of a stopped daemon says that it serves. A stale copy goes all the same."""
    global states
    node = asker.node

    def is_left(data, seq):
        return os.path.exists(node.cache + data.file(f"f{seq}"))
    for name, verdict, left in (("stopped", "cache", True), ("stopped-missing", "origin", False),
                                ("stopped-stale", "origin", False)):
        def prepare(data, seq):
            if name == "stopped-stale":
                replace(data.file(f"f{seq}"))
            return hashlib.sha256(frame_bytes(data, seq)).hexdigest()

        def by_shim(seq, data=pairs[name][0]):
            right = prepare(data, seq)
            return asker.shim(data.file(f"f{seq}")) == (verdict, right), is_left(data, seq)

        def by_reader(seq, data=pairs[name][1]):
            right = prepare(data, seq)
            return asker.reader(data.path, seq) == (verdict, right), is_left(data, seq)

        def by_explain(seq, data=pairs[name][0]):
            prepare(data, seq)
            return asker.explain(data.file(f"f{seq}"))["reads"] == verdict, left
        seqs = iter(range(12))
        got = [while_stopped(node, seqs, ask) for ask in (by_shim, by_reader, by_explain)]
        expect(got == [(True, left)] * 3, f"{name}: {verdict}, and the copy left: {got}")
        states += 1
    node.signal(signal.SIGCONT)


def ordinary_states():
    with Nodes(1) as nodes:
        node = nodes[0]
        asker = Asker(nodes, node)
        pairs = Pairs(nodes)
        for name in ("current", "missing", "gone", "attribute", "mode", "suspended", "pinned",
                     "removed", "mismatch", "nested", "spare", "view", *ORIGIN_CHANGES):
            pairs.add(name)
        pairs.add("waiting", frames=0)
        pairs.add("always", keys='validate = "always"')
        pairs.add("always-stale", keys='validate = "always"')
        pairs.add("never", keys='validate = "never"')
        pairs.add("never-young", keys='validate = "never"')
        pairs.add("unclean", keys='validate = "never"')
        for name in ("stopped", "stopped-stale", "stopped-missing"):
            pairs.add(name, frames=12, keys='fill = "wait"')
        os.makedirs(nodes.path("real"))
        os.makedirs(nodes.path("origin"), exist_ok=True)
        os.symlink(nodes.path("real"), nodes.path("origin", "linked"))
        pairs.add("linked/sim")
        nodes.configure('sweep = "off"\n')
        node.start()
        for name, pair in pairs.all.items():
            for data in pair:
                if name not in ("missing", "waiting", "never-young", "stopped-missing"):
                    nodes.push(data)

        expect_same(asker, "current copy", pairs["current"], "cache", because="as the origin")
        expect_same(asker, "no copy", pairs["missing"], "origin", because="no copy")
        for what, change in ORIGIN_CHANGES.items():
            for data in pairs[what]:
                change(data.file("f0"))
            expect_same(asker, f"stale by {what}", pairs[what], "origin", because=what)
        for data in pairs["gone"]:
            os.unlink(data.file("f0"))
        expect_same(asker, "the origin is gone", pairs["gone"], "nothing")
        for data in pairs["attribute"]:
            alter_copy(node, data, lambda path: os.removexattr(path, "user.zazen"))
        expect_same(asker, "copy without attribute", pairs["attribute"], "origin",
                    because="identity cannot be read")
        for data in pairs["mode"]:
            os.chmod(node.cache + data.file("f0"), 0o644)
        expect_same(asker, "copy with another mode", pairs["mode"], "cache")
        for data in pairs["pinned"]:
            node.ctl("pin", data.path, "0-2").succeeded()
        expect_same(asker, "pinned copy", pairs["pinned"], "cache")

        # A native that was pushed before the origin has it.
        content = os.urandom(5_000)
        with Bodhi(node.config) as writer:
            for data in pairs["waiting"]:
                writer.write(data.path, 0, content)
            writer.flush()
        expect(all(node.status_of(data)["waiting"] == 1 for data in pairs["waiting"]), "it waits")
        expect_same(asker, "native that waits for its origin", pairs["waiting"], "nothing")
        for data in pairs["waiting"]:
            with open(data.file("f0"), "wb") as file:
                file.write(content)
        expect_same(asker, "native whose origin has come", pairs["waiting"], "origin")

        # A program has it open for writing.
        writers = []
        for data in pairs["suspended"]:
            writers.append(Process(
                ["sh", "-c", f"exec 3>>'{data.file('f0')}'; echo ready; exec sleep 1000"],
                dict(nodes.env, **nodes.shim(node))))
            nodes.running.append(writers[-1])
            wait_until(lambda: node.has_suspended(data), "the copy is suspended")
        expect_same(asker, "suspended copy", pairs["suspended"], "origin", because="for writing")
        for writer in writers:
            nodes.running.remove(writer)
            writer.kill_session()

        # When copies are compared.
        expect_same(asker, "validate always", pairs["always"], "cache", checked="always")
        for name in ("always-stale", "never"):
            before = [hashlib.sha256(frame_bytes(data, 0)).hexdigest() for data in pairs[name]]
            for data in pairs[name]:
                replace(data.file("f0"))
        expect_same(asker, "validate always, stale", pairs["always-stale"], "origin", because="ino")
        expect_same(asker, "validate never serves what it has", pairs["never"], "cache",
                    sums=before, because="not checked", checked="never")
        expect_same(asker, "validate sample", pairs["spare"], "cache", checked="every 30 s")
        for data in pairs["mismatch"]:
            os.utime(data.file("f0"), (2e9, 2e9))
            asker.shim(data.file("f0"))
            wait_until(lambda: node.status_of(data)["checks_each_open"], "the dataset is doubted")
        expect_same(asker, "after a mismatch", pairs["mismatch"], "cache", seq=1,
                    checked="was stale")
        for data in pairs["never-young"]:
            os.utime(data.file("f0"))
            nodes.warm(node, data, ["f0"])
        expect_same(asker, "young copy", pairs["never-young"], "cache", checked="young")
        for data in pairs["never-young"]:
            os.chmod(data.file("f0"), 0o640)
        expect_same(asker, "young copy that is stale", pairs["never-young"], "origin",
                    because="ctime")

        # Other names, other files, other ranks, other wishes.
        expect_same(asker, "dataset behind a symbolic link", pairs["linked/sim"], "cache")
        real = nodes.path("real", "sim-shim")
        expect(asker.explain(f"{real}/f1")["reads"] == asker.shim(f"{real}/f1")[0] == "cache",
               "another spelling of the path")
        expect(asker.reader(real, 1)[0] == "nothing", "by design: no dataset has this path")
        ordinary = pairs["current"][0].file("topology")
        shutil.copy(pairs["current"][0].file("f0"), ordinary)
        said = asker.explain(ordinary)
        expect((said["kind"], said["reads"]) == ("ordinary", "origin"), f"{said}")
        expect(asker.shim(ordinary)[0] == "origin", "by design: the reader has no name for it")
        path = pairs["current"][0].file("f1")
        expect(asker.explain(path, ZAZEN_DISABLE="1")["reads"] ==
               asker.shim(path, ZAZEN_DISABLE="1")[0] == "origin", "ZAZEN_DISABLE=1")
        expect(asker.reader(pairs["current"][1].path, 1, ZAZEN_DISABLE="1")[0] == "cache",
               "by design: the variable is the shim's")
        shown, view = pairs["view"][0], nodes.path("rank")
        os.mkdir(view)
        under_view = [f"{BUILD}/tests/posix/view_tool", "run", view, shown.path, "f{seq}", "2", "0",
                      "--"]
        hits = node.status_of(shown)["hits"]  # a rank's report is its job's
        _, got = asker.shim(shown.file("f1"), before=under_view)
        expect(got == hashlib.sha256(frame_bytes(shown, 1)).hexdigest(), "another rank's bytes")
        verdicts = {"cache" if node.status_of(shown)["hits"] == hits + 1 else "origin"}
        os.mkdir(view)  # a rank takes its view with it
        run([*under_view, "true"], nodes.env).succeeded()
        said = asker.explain(shown.file("f1"), words=("--view", view))
        expect(said["frame_is"] == "another rank's", f"{said}")
        verdicts |= {said["reads"], asker.reader(pairs["view"][1].path, 1)[0]}
        expect(verdicts == {"cache"}, f"another rank's frame: {verdicts}")

        # A dataset that a reload removed.
        node.configure([data for data in nodes.datasets if data not in pairs["removed"]],
                       'sweep = "off"\n')
        node.signal(signal.SIGHUP)
        gone = {data.path for data in pairs["removed"]}
        wait_until(lambda: not gone & {d["path"] for d in node.status()["datasets"]}, "the reload")
        said = [asker.explain(pairs["removed"][0].file("f0")), asker.shim(pairs["removed"][0].file("f0"))]
        expect((said[0]["kind"], said[0]["reads"], said[1][0]) == ("ordinary", "origin", "origin"),
               f"{said}")
        expect(asker.reader(pairs["removed"][1].path, 0)[0] == "nothing", "no dataset has this path")
        nodes.configure('sweep = "off"\n')
        node.signal(signal.SIGHUP)
        wait_until(lambda: gone <= {d["path"] for d in node.status()["datasets"]}, "the reload")

        stopped_states(asker, pairs)
        node.signal(signal.SIGSTOP)
        wait_until(lambda: "hangs" in asker.explain(pairs["spare"][0].file("f0"))["because"],
                   "no heartbeat")
        expect_same(asker, "daemon that hangs", pairs["spare"], "origin", because="hangs")
        node.signal(signal.SIGCONT)
        wait_until(lambda: asker.explain(pairs["spare"][0].file("f0"))["reads"] == "cache", "it serves")

        # A daemon that was killed, and the next one, whose origin is away.
        node.kill()
        expect_same(asker, "dead daemon", pairs["spare"], "origin", because="is dead")
        for data in pairs["unclean"]:
            replace(data.file("f0"))
            os.rename(data.path, data.path + ".away")
        node.start()
        for data in pairs["unclean"]:
            expect(node.status_of(data)["checks_each_open"], "it is doubted")
            os.rename(data.path + ".away", data.path)
        expect_same(asker, "after an unclean stop, stale", pairs["unclean"], "origin")
        expect_same(asker, "after an unclean stop, current", pairs["unclean"], "cache", seq=1)
        node.stop()
        expect_same(asker, "daemon that was told to stop", pairs["spare"], "origin",
                    because="no daemon runs")


def disk_out_of_use():
    if not shutil.which("fiu-ctrl") or b"__asan_init" in open(f"{BUILD}/daemon/zazend", "rb").read():
        print("left out: the disk that fails, which needs fiu-utils and no sanitizer")
        return
    with Nodes(1) as nodes:
        node, pairs = nodes[0], Pairs(nodes)
        pairs.add("failing")
        pairs.add("other")
        nodes.configure()
        pipe = nodes.path("fiu")
        node.start(before=("env", f"LD_PRELOAD={FIU}", f"FIU_CTRL_FIFO={pipe}"))
        for data in pairs["failing"]:
            nodes.push(data)
        for point in ("fdatasync", "fsync"):
            run(["fiu-ctrl", "-f", pipe, "-c", f"enable name=posix/io/sync/{point},failinfo={EIO}",
                 str(node.pid())], nodes.env).succeeded()
        nodes.serial(node, ["cat", pairs["other"][0].file("f0")]).succeeded()
        wait_until(lambda: not node.status()["healthy"], "the cache to be out of use")
        expect_same(Asker(nodes, node), "disk out of use", pairs["failing"], "origin",
                    because="out of use")
        node.kill()  # fiu's own thread takes SIGTERM, and with it the process's life


def closed_directory():
    """The frame directory is closed for the user, the dataset's own is not. Root passes any
    directory: then another user asks, and a daemon for all users serves."""
    is_root = os.geteuid() == 0
    with Nodes(1, parent=tempfile.gettempdir()) as nodes:
        node, pairs = nodes[0], Pairs(nodes)
        pairs.add("closed", template="run1/f{seq}", keys='validate = "never"')
        for directory in (nodes.directory, node.directory, nodes.path("origin")):
            os.chmod(directory, 0o755)
        here = nodes.path("programs")
        for place in ("preload", "tools", "bodhi/library", "scripts"):
            os.makedirs(os.path.join(here, place))
        shim = shutil.copy(SHIM, f"{here}/preload")
        ctl = shutil.copy(ZAZENCTL, f"{here}/tools")
        shutil.copy(LIBRARY, f"{here}/bodhi/library")
        sources = [os.path.dirname(os.path.abspath(__file__)), *os.environ["PYTHONPATH"].split(":")]
        for source in sources:
            for name in os.listdir(source):
                if name in ("bodhi_library.py", "nodes.py", "processes.py", "dataset.py", "job.py"):
                    shutil.copy(os.path.join(source, name), f"{here}/scripts")
        script = shutil.copy(__file__, f"{here}/scripts")
        other = ["setpriv", "--reuid=70001", "--regid=70001", "--clear-groups"] if is_root else []
        asker = Asker(nodes, node, other, shim, ctl, script, here)
        nodes.configure('users = "all"\n' if is_root else "")
        node.start()
        for data in pairs["closed"]:
            nodes.push(data)
        expect_same(asker, "open directory", pairs["closed"], "cache")
        # Closed without the daemon's notice, which mirrors rights: the copy is still open to all.
        node.signal(signal.SIGSTOP)
        for data in pairs["closed"]:
            os.chmod(data.file("run1"), 0o700 if is_root else 0)
        try:
            got = asker.reader(pairs["closed"][1].path, 0)
            expect(got == ("nothing", None), f"closed directory: the reader gives {got}")
            expect_same(asker, "closed directory", pairs["closed"], "nothing",
                        because="Permission denied")
        finally:
            node.signal(signal.SIGCONT)
            for data in pairs["closed"]:
                os.chmod(data.file("run1"), 0o755)


ordinary_states()
disk_out_of_use()
closed_directory()
expect(states >= 20, f"only {states} states")
print(f"{states} states")
