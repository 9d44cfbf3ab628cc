"""Three users without an account, and a system daemon that serves them.

    with SystemNode() as node:
        data = node.dataset(frames=8)
        node.start(data)
        node.read(BOB, data.paths())            # through the shim
        node.read(BOB, data.paths(), plain=True)

Everything lies below the system's temporary directory: a daemon that serves all users refuses
directories that somebody else could rearrange, and a build directory may be anybody's. The
shim is copied there, for the users must be able to load it.
"""
import contextlib
import json
import os
import shutil
import tempfile

from nodes import PYTHON, SHIM, ZAZENCTL, Nodes, skip
from processes import expect, run, wait_until

if os.geteuid() != 0:
    skip("only root can become another user")

TEAM = 70100
READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reader.py")


class User:
    def __init__(self, name, uid, groups=()):
        self.name, self.uid, self.gid, self.groups = name, uid, uid, list(groups)

    def __repr__(self):
        return self.name

    def command(self, argv):
        groups = f"--groups={','.join(map(str, self.groups))}" if self.groups else "--clear-groups"
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", groups, "--", *argv]

    def do(self, action):
        """Calls action() in a child of this user; returns what it returns, or its errno."""
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(out)
            os.setgroups(self.groups)
            os.setresgid(self.gid, self.gid, self.gid)
            os.setresuid(self.uid, self.uid, self.uid)
            try:
                answer = {"value": action()}
            except OSError as error:
                answer = {"errno": error.errno}
            except BaseException as error:  # a child must not run the test's own clean-up
                answer = {"failure": repr(error)}
            os.write(into, json.dumps(answer).encode())
            os._exit(0)
        os.close(into)
        with open(out, "rb") as pipe:
            answer = json.loads(pipe.read())
        os.waitpid(pid, 0)
        expect("failure" not in answer, f"{self}: {answer}")
        return answer

    @contextlib.contextmanager
    def effective(self):
        """Inside of it, root has this user's rights."""
        mine = os.getgroups(), os.getegid()
        os.setgroups(self.groups)
        os.setegid(self.gid)
        os.seteuid(self.uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(mine[1])
            os.setgroups(mine[0])

    def refused(self, action, what):
        answer = self.do(action)
        expect("errno" in answer, f"{self} could {what}: {answer}")
        return answer["errno"]


ALICE = User("alice", 70001, [TEAM])  # owns the frames
BOB = User("bob", 70002, [TEAM])  # is in her group
CAROL = User("carol", 70003)  # is not
ALL = (ALICE, BOB, CAROL)


class SystemNode:
    def __init__(self):
        self.nodes = Nodes(1, parent=tempfile.gettempdir())
        self.node = self.nodes[0]
        self.directory = self.nodes.directory
        for directory in (self.directory, self.node.directory):
            os.chmod(directory, 0o755)
        self.shim = shutil.copy(SHIM, self.directory)
        self.reader = shutil.copy(READER, self.directory)

    def dataset(self, frames, owner=None, **options):
        """Alice's, and of her team; or another owner's, and of that one's own group."""
        data = self.nodes.dataset(frames, ordinary=False, **options)
        uid, gid = (owner.uid, owner.gid) if owner else (ALICE.uid, TEAM)
        os.chmod(self.nodes.path("origin"), 0o755)
        for top, directories, names in os.walk(data.path):
            for name in [top] + [os.path.join(top, name) for name in names]:
                os.chown(name, uid, gid)
        return data

    def start(self, *datasets, extra=""):
        self.node.configure(datasets or self.nodes.datasets, f'users = "all"\n{extra}')
        self.node.start()

    def read(self, user, paths, plain=False):
        """The user's results for each path: bytes or errno, stat, access."""
        env = dict(self.nodes.env)
        if not plain:
            env.update(LD_PRELOAD=self.shim, ZAZEN_CONFIG=self.node.config)
        done = run(user.command([PYTHON, "-I", self.reader, *paths]), env).succeeded()
        expect(done.stderr == "", f"{user}: {done}")
        return json.loads(done.stdout)

    def copy(self, path):
        return self.node.cache + path

    def check(self, user, paths, when):
        """Through the shim it is as without it. Returns what can be read."""
        plain = self.read(user, paths, plain=True)
        shown = self.read(user, paths)
        for path in paths:
            expect(shown[path] == plain[path],
                   f"{when}: {user} and {path}:\n{shown[path]}, not\n{plain[path]}")
        return {path for path in paths if "bytes" in plain[path]}

    def readable_copies(self, user, paths):
        """Which copies the user can open by their own names, past the shim."""
        def look():
            found = []
            for path in paths:
                try:
                    os.close(os.open(self.copy(path), os.O_RDONLY))
                    found.append(path)
                except OSError:
                    pass
            return found
        return set(user.do(look)["value"])

    def wait_for_copies(self, data, names):
        wait_until(lambda: self.node.copies(data) == set(names) and self.node.counts(data, names),
                   f"the copies: {self.node.copies(data)}, not {names}")

    def ctl(self, user, *words):
        ctl = os.path.join(self.directory, "zazenctl")
        if not os.path.exists(ctl):
            shutil.copy(ZAZENCTL, ctl)
        return run(user.command([ctl, "--config", self.node.config, *words]), self.nodes.env)

    def hits(self):
        return self.node.status()["hits"]

    def __enter__(self):
        self.nodes.__enter__()
        return self

    def __exit__(self, *trouble):
        return self.nodes.__exit__(*trouble)
