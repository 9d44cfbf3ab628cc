"""One dataset, one daemon, and programs that run with and without the shim."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["ZAZEN_BUILD"])
SHIM = BUILD / "preload" / "libzazen.so"
TRACE = BUILD / "preload" / "libzazen-trace.so"
TRACED = {"LD_PRELOAD": f"{TRACE}:{SHIM}", "ZAZEN_TRACE_FILE": "/dev/null"}
ZAZEND = os.environ.get("ZAZEN_TEST_ZAZEND") or BUILD / "daemon" / "zazend"
PROGRAMS = BUILD / "tests" / "posix"
FRAMES = 22
LIMIT_SECONDS = 30


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def directory_on_another_device():
    """A new directory in memory; none, if there files can have no attributes."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="zazen posix ", dir="/dev/shm"))
    try:
        os.setxattr(directory, "user.test", b"")
    except OSError as error:
        directory.rmdir()
        print(f"the cache is on the origin's device: {error}")
        return None
    return directory


class Node:
    """A directory with a dataset (sim1, f{seq}), a cache, a runtime directory, a daemon.
    The dataset can be in another directory, `origin`, which is the caller's to remove."""

    def __init__(self, template="f{seq}", options="", origin=None, other_device=False):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="zazen posix "))
        self.dataset = (origin or self.root) / "sim1"
        self.elsewhere = directory_on_another_device() if other_device else None
        self.cache = (self.elsewhere or self.root) / "cache"
        self.report = self.root / "report.json"
        self.config = self.root / "zazen.toml"
        self.config.write_text(
            f'node = "n0"\ncache = "{self.cache}"\nruntime = "{self.root}/run"\n'
            f'[[dataset]]\npath = "{self.dataset}"\nframes = "{template}"\n{options}'
        )
        self.template = template
        self.daemon = None
        self.make_dataset()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end_daemon(signal.SIGKILL)
        shutil.rmtree(self.root)
        if self.elsewhere is not None:
            shutil.rmtree(self.elsewhere)

    def frame(self, seq):
        return self.dataset / self.template.replace("{seq}", str(seq))

    def make_dataset(self):
        """The same names and bytes each time, and what merely looks like a frame."""
        shutil.rmtree(self.dataset, ignore_errors=True)
        self.dataset.mkdir()
        content = random.Random(7)
        for seq in range(FRAMES):
            self.frame(seq).parent.mkdir(parents=True, exist_ok=True)
            self.frame(seq).write_bytes(content.randbytes(seq * 1000))
            if seq == 4:
                os.setxattr(self.frame(seq), "user.origin", b"from the start")
            if seq == 12:
                self.frame(seq).chmod(0o755)
            # Old, or each use of its copy would be checked at the origin (trust.h).
            os.utime(self.frame(seq), (1e9, 1e9))
        (self.dataset / "notes.txt").write_text("a note\n")
        (self.dataset / "f03").write_text("not canonical\n")
        (self.dataset / "f77").symlink_to("f7")
        (self.dataset / "f55").mkdir()
        (self.root / "other").mkdir(exist_ok=True)
        (self.root / "other" / "f3").write_text("elsewhere\n")
        (self.root / "other" / "notes.txt").write_text("elsewhere\n")
        (self.root / "f3").write_text("above\n")
        if not (self.root / "link").is_symlink():
            (self.root / "link").symlink_to("sim1")

    def start_daemon(self):
        log = self.root / "zazend.log"
        with open(log, "wb") as file:
            self.daemon = subprocess.Popen(
                [ZAZEND, "--config", self.config], stdin=subprocess.DEVNULL, stdout=file,
                stderr=file)
        self.wait_until(lambda: "event=serving" in log.read_text(), "the daemon serves")

    def end_daemon(self, how=signal.SIGTERM):
        if self.daemon is None:
            return
        self.daemon.send_signal(how)
        self.daemon.wait(timeout=LIMIT_SECONDS)
        self.daemon = None
        said = (self.root / "zazend.log").read_text()
        expect("Sanitizer: " not in said, f"a sanitizer's report: {said}")

    def wait_until(self, condition, what):
        give_up = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if self.daemon is not None and self.daemon.poll() is not None:
                expect(False, f"the daemon ended: {(self.root / 'zazend.log').read_text()}")
            expect(time.monotonic() < give_up, f"waited in vain: {what}")
            time.sleep(0.01)

    def copy_of(self, path):
        return pathlib.Path(f"{self.cache}{path}")

    def warm(self, seqs=range(FRAMES)):
        """Reads these frames once through the shim and waits for the copies."""
        frames = [self.frame(seq) for seq in seqs]
        self.run(["cat", *frames], self.shim())
        self.wait_until(lambda: all(self.copy_of(f).exists() for f in frames), "all is cached")

    def shim(self, **more):
        """With ZAZEN_TRACED set, as `zazenctl run --trace` would."""
        preload = TRACED if os.environ.get("ZAZEN_TRACED") else {"LD_PRELOAD": str(SHIM)}
        return {**preload, "ZAZEN_CONFIG": str(self.config), **more}

    def run(self, argv, extra_environment=None):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        environment.update(extra_environment or {})
        return subprocess.run(
            [str(word) for word in argv],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_SECONDS,
        )

    def read_report(self):
        return json.loads(self.report.read_text())
