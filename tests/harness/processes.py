"""Child processes with a hard time limit. Each gets a session of its own: what is left of the
session when the time is up is killed, by process id, so that no test leaves a process behind."""
import os
import re
import signal
import subprocess
import tempfile
import time

LIMIT_SECONDS = 60
SANITIZERS_REPORT = re.compile(r"Sanitizer: |: runtime error: ")


class Failure(AssertionError):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def wait_until(condition, what, seconds=30):
    give_up = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < give_up, f"waited {seconds} s in vain: {what}")
        time.sleep(0.02)


def session_members(session):
    members = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            members.append(int(entry))
    return members


class Finished:
    def __init__(self, argv, status, stdout, stderr):
        self.argv, self.status, self.stdout, self.stderr = argv, status, stdout, stderr

    def __str__(self):
        return f"{' '.join(self.argv)}\nstatus {self.status}\n{self.stdout}\n{self.stderr}"

    def succeeded(self):
        expect(self.status == 0, f"failed: {self}")
        return self


class Process:
    def __init__(self, argv, env, cwd=None):
        self.argv = [str(word) for word in argv]
        self._stdout = tempfile.TemporaryFile("w+", errors="replace")
        self._stderr = tempfile.TemporaryFile("w+", errors="replace")
        self._popen = subprocess.Popen(
            self.argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=self._stdout, stderr=self._stderr, start_new_session=True)
        self.pid = self._popen.pid

    def running(self):
        return self._popen.poll() is None

    def signal(self, number):
        self._popen.send_signal(number)

    def stderr_so_far(self):
        return self._so_far(self._stderr)

    def stdout_so_far(self):
        return self._so_far(self._stdout)

    @staticmethod
    def _so_far(stream):
        with open(f"/proc/self/fd/{stream.fileno()}", errors="replace") as file:
            return file.read()

    def kill_session(self):
        for member in session_members(self.pid):
            try:
                os.kill(member, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._popen.wait()

    def finish(self, seconds=LIMIT_SECONDS):
        expired = False
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            expired = True
        self.kill_session()
        texts = []
        for file in (self._stdout, self._stderr):
            file.seek(0)
            texts.append(file.read())
            file.close()
        done = Finished(self.argv, self._popen.returncode, *texts)
        expect(not expired, f"did not end within {seconds} s: {done}")
        # A worker that dies of one is replaced: the daemon's status does not tell.
        expect(not SANITIZERS_REPORT.search(done.stderr), f"a sanitizer's report: {done}")
        return done


def run(argv, env, cwd=None, seconds=LIMIT_SECONDS):
    return Process(argv, env, cwd).finish(seconds)
