#!/usr/bin/python3
"""Reads traces of watched_zazend: did the main process of zazend leave clients and origins to
its workers (D23)?

    check_watch.py [--all] TRACE_OR_DIRECTORY...

The main process must not read from a client, receive a descriptor, change its user, or name a
path of an origin. The first violation is printed with its line of the trace (--all: one of each
kind and place), and the exit status is 1.

The threads of a process are known by the flags of clone(). A child of the main process counts
as the main process until it calls itself zazend-forker, or zazend-links, which follows the links
of the configuration: so does the process that --daemonize leaves in the background. The children
of the forker are workers.

The origins are the datasets in the configuration as zazend itself read it, with all reloads:
the file is gone when the trace is read.
"""
import argparse
import codecs
import os
import posixpath
import re
import sys
import tomllib

# The servers whose answers the main process may read. Nothing else is excused.
ALLOWED_SERVERS = {
    "/run/munge/munge.socket.2",  # who pushes: bodhi/push/munge_credential.cc
    "/var/run/munge/munge.socket.2",
}

CHILDREN = {"zazend-forker": "forker", "zazend-links": "worker"}  # by name: what they are

FORBIDDEN = {
    **dict.fromkeys(("setuid", "setreuid", "setresuid", "setfsuid", "setgid", "setregid",
                     "setresgid", "setfsgid", "setgroups"), "changed its user or its groups"),
    "pidfd_getfd": "took a descriptor out of another process",
    "process_vm_readv": "read the memory of another process",
    "ptrace": "traced another process",
    "open_by_handle_at": "opened a file without a path, which the watch cannot judge",
    "io_uring_setup": "made an io_uring, which the watch cannot see through",
}
READS = {"read", "readv", "recvfrom", "recvmsg", "recvmmsg", "splice", "tee"}
ACCEPTS = {"accept", "accept4"}
CLONES = {"clone", "clone3", "fork", "vfork"}
HAVE_NO_PATH = READS | ACCEPTS | CLONES | {"socket", "connect", "prctl"}
HAVE_TWO_PATHS = {"rename", "renameat", "renameat2", "link", "linkat"}

LINE = re.compile(r"(\d+) +(.*)", re.S)
UNFINISHED = " <unfinished ...>"
RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
QUOTED = r'"(?:[^"\\]|\\.)*"'
NOTED = r"<((?:[^<>\\]|\\.)*)>"  # -y: where a descriptor leads; strace escapes < and > in it
TOKEN = re.compile(rf'{QUOTED}(?:\.\.\.)?|{NOTED}|[^"<>,()\[\]{{}}]+|.', re.S)
DESCRIPTOR = re.compile(rf"(?:AT_FDCWD|\d+){NOTED}")
OTHER_PROCESS = re.compile(r"/proc/(\d+)/(?:task/\d+/)?(?:fd|root|cwd|exe|map_files)(?:/|$)")


def unescaped(text):
    return codecs.escape_decode(text.encode("latin-1"))[0].decode(errors="surrogateescape")


def is_inside(path, directory):
    return path == directory or path.startswith(directory.rstrip("/") + "/")


class Call:
    """name(arguments) = result"""

    def __init__(self, text, number):
        self.text, self.number = text, number
        self.name, _, rest = text.partition("(")
        self.arguments, depth, end = [""], 0, len(rest)
        for token in TOKEN.finditer(rest):
            piece = token.group()
            if piece in ")]}" and depth == 0:
                end = token.end()
                break
            depth += (piece in "([{") - (piece in ")]}")
            if piece == "," and depth == 0:
                self.arguments.append("")
            else:
                self.arguments[-1] += piece
        self.arguments = [argument.strip() for argument in self.arguments]
        self.result = rest[end:].strip().removeprefix("=").strip()  # "": it never returned

    def string(self, index):
        """The argument, if it is a string."""
        argument = self.arguments[index] if index < len(self.arguments) else ""
        return unescaped(argument.rstrip(".")[1:-1]) if argument.startswith('"') else None

    def noted(self, index):
        """Where the argument, a descriptor, leads."""
        argument = self.arguments[index] if 0 <= index < len(self.arguments) else ""
        found = DESCRIPTOR.match(argument)
        return unescaped(found[1]) if found else None

    def noted_result(self):
        found = DESCRIPTOR.match(self.result)
        return unescaped(found[1]) if found else None

    def paths(self, working_directory):
        """The paths that it names, absolute."""
        if self.name in HAVE_NO_PATH:
            return []
        strings = [i for i in range(len(self.arguments)) if self.string(i) is not None]
        if self.name.startswith("symlink"):
            strings = strings[1:]  # the first is content
        found = []
        for i in strings[:2 if self.name in HAVE_TWO_PATHS else 1]:
            base = self.noted(i - 1) or working_directory
            path = posixpath.join(base, self.string(i)) if self.string(i) else base
            if path.startswith("/"):
                found.append("/" + posixpath.normpath(path).lstrip("/"))
        return found


class Process:
    def __init__(self, kind, leader):
        self.kind = kind  # main, forker, worker
        self.leader = leader
        self.threads = {leader}


class Violation:
    def __init__(self, what, file, call, tid):
        self.what, self.file, self.call, self.tid = what, file, call, tid

    def __str__(self):
        return (f"the main process {self.what}\n"
                f"  {self.file}:{self.call.number}: {self.tid} {self.call.text[:1000]}")

    def kind(self):
        """The same for the same deed at another frame or in another test."""
        text = re.sub(QUOTED, '""', self.call.text)
        text = re.sub(r"<[^>]*>|0x[0-9a-f]+|\d+", "", text)
        return self.what.partition(":")[0], text[:80]


class Trace:
    """A trace: its violations, and how much was seen."""

    def __init__(self, file):
        self.file = file
        self.violations = []
        self.origins, self.own = set(), set()
        self.sockets_read = set()  # what is at their other ends
        self.workers = 0
        self.origin_calls_of_workers = 0
        self.is_complete = False  # every thread is seen to end
        self._first = None   # process
        self._threads = {}   # by id: their process
        self._early = {}     # lines of threads whose clone() has not returned yet
        self._begun = {}     # calls that have not returned, by thread
        self._sockets = {}   # by name: what is at the other end
        self._config = None  # its path, and while it is read, where that leads, and the text
        self._config_real, self._config_text = None, ""
        self._working_directory = "/"
        self._read()

    def _read(self):
        with open(self.file, encoding="latin-1", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                found = LINE.fullmatch(line.rstrip("\n"))
                if not found:
                    continue  # the last line of a trace that goes on
                tid, text = int(found[1]), found[2]
                if self._first is None:
                    self._first = self._threads[tid] = Process("main", tid)
                self._take(tid, text, number)
        self.is_complete = self._first is not None and not self._threads and not self._early
        # The main process, or the forker, was killed while it made these.
        makers = {self._threads[tid].kind for tid, (text, _) in self._begun.items()
                  if tid in self._threads and text.startswith("clone")}
        for tid, lines in self._early.items():
            self._threads[tid] = Process("main" if makers != {"forker"} else "worker", tid)
            for line in lines:
                self._take(tid, *line)
        for tid, (text, number) in self._begun.items():
            self._judge(tid, Call(text, number))
        if self.workers and not self.origins:
            raise ValueError(f"{self.file}: zazend read no configuration that the watch knows")

    def _take(self, tid, text, number):
        process = self._threads.get(tid)
        if process is None:
            self._early.setdefault(tid, []).append((text, number))
            return
        if text.startswith("+++"):
            unfinished = self._begun.pop(tid, None)
            if unfinished:
                self._judge(tid, Call(*unfinished))
            del self._threads[tid]
            process.threads.discard(tid)
            return
        if text.startswith("---"):
            return
        if text.endswith(UNFINISHED):
            self._begun[tid] = text.removesuffix(UNFINISHED), number
            return
        if resumed := RESUMED.match(text):
            begun, number = self._begun.pop(tid, ("", number))
            text = begun + text[resumed.end():]
        name = text.partition("(")[0]
        if process.kind == "main":
            self._judge(tid, Call(text, number))
        elif name not in CLONES and any(origin in text for origin in self.origins):
            self._note_worker(Call(text, number))
        if name in CLONES:
            self._add_child(process, Call(text, number))

    def _add_child(self, process, call):
        if not (made := re.match(r"\d+", call.result)):
            return
        child = int(made[0])
        if "CLONE_THREAD" in call.text:
            process.threads.add(child)
            self._threads[child] = process
        else:
            kind = "main" if process.kind == "main" else "worker"
            self.workers += process.kind == "forker"
            self._threads[child] = Process(kind, child)
        for line in self._early.pop(child, []):
            self._take(child, *line)

    def _note_worker(self, call):
        """A worker's look at an origin. Links on the way to it give it another name."""
        named = [path for path in call.paths("/") if self._is_origin(path)]
        self.origin_calls_of_workers += bool(named)
        real = call.noted_result()
        if real and any(path in self.origins for path in named):
            if not any(is_inside(own, real) or is_inside(real, own) for own in self.own):
                self.origins.add(real)

    def _is_origin(self, path):
        return any(is_inside(path, origin) for origin in self.origins) and not any(
            is_inside(path, own) for own in self.own)

    # ---- The main process

    def _judge(self, tid, call):
        process = self._threads.get(tid)
        if process is None or process.kind != "main":
            return
        if call.name == "prctl":
            if (call.arguments[0] == "PR_SET_NAME" and call.string(1) in CHILDREN and
                    tid == process.leader and process is not self._first):
                process.kind = CHILDREN[call.string(1)]
            return
        if call.name in FORBIDDEN:
            return self._found(FORBIDDEN[call.name], call, tid)
        self._follow(call)
        if call.name in READS:
            return self._judge_read(tid, call)
        real = call.noted_result()
        for path in call.paths(self._working_directory) + ([real] if real else []):
            if self._is_origin(path):
                return self._found(f"named a path of an origin: {path}", call, tid)
            other = OTHER_PROCESS.match(path)
            if other and int(other[1]) not in process.threads:
                return self._found(f"looked into another process: {path}", call, tid)

    def _judge_read(self, tid, call):
        if "cmsg_type=SCM_RIGHTS" in re.sub(QUOTED, "", call.text):
            return self._found("received a descriptor", call, tid)
        source = call.noted(0)
        if source and self._is_origin(source):
            return self._found(f"read from an origin: {source}", call, tid)
        if not source or not source.startswith("socket:"):
            return
        peer = self._sockets.get(source, "a socket of unknown descent")
        self.sockets_read.add(peer)
        if peer not in ALLOWED_SERVERS:
            self._found(f"read from {peer}", call, tid)

    def _follow(self, call):
        """Keeps track of the directory, of sockets and of the configuration."""
        for i in range(len(call.arguments)):
            if call.arguments[i].startswith("AT_FDCWD<"):
                self._working_directory = call.noted(i)
        if call.name == "chdir" and call.result == "0":
            self._working_directory = call.paths(self._working_directory)[0]
        elif call.name == "socket" and (name := call.noted_result()):
            self._sockets[name] = f"an {call.arguments[0]} socket of its own"
        elif call.name in ACCEPTS and (name := call.noted_result()):
            self._sockets[name] = "a client"
        elif call.name == "connect" and (name := call.noted(0)):
            if path := re.search(rf"sun_path=({QUOTED})", call.arguments[1]):
                self._sockets[name] = unescaped(path[1][1:-1])
        elif call.name == "execve":
            words = re.findall(QUOTED, call.arguments[1])
            words = [unescaped(word[1:-1]) for word in words]
            for word, following in zip(words, words[1:] + [""]):
                if word == "--config" or word.startswith("--config="):
                    self._config = word.partition("=")[2] or following
        elif call.name.startswith("open") and (real := call.noted_result()):
            if self._is_config(call.string(0 if call.name == "open" else 1)):
                self._config_real, self._config_text = real, ""
        elif call.name == "read" and call.noted(0) == self._config_real is not None:
            if call.result == "0":
                self._learn_origins()
                self._config_real = None
            elif call.string(1) is not None:
                self._config_text += call.string(1)

    def _is_config(self, path):
        if self._config is None:
            return posixpath.basename(path) == "zazen.toml"
        return path == self._config or path.endswith("/" + self._config)

    def _learn_origins(self):
        try:
            config = tomllib.loads(self._config_text)
            places = [config.get(key) for key in ("cache", "runtime")]
            datasets = [dataset.get("path") for dataset in config.get("dataset", [])]
        except (tomllib.TOMLDecodeError, AttributeError, TypeError):
            return  # zazend refuses it as well

        def normal(paths):
            return {posixpath.normpath(path) for path in paths
                    if isinstance(path, str) and path.startswith("/")}
        self.own |= normal(places)
        self.origins |= normal(datasets) - {"/"}

    def _found(self, what, call, tid):
        self.violations.append(Violation(what, self.file, call, tid))


def trace_files(places):
    for place in places:
        if os.path.isdir(place):
            for directory, _, names in sorted(os.walk(place)):
                yield from (os.path.join(directory, name) for name in sorted(names)
                            if name.endswith(".trace"))
        else:
            yield place


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="one violation of each kind")
    parser.add_argument("places", nargs="+", metavar="TRACE_OR_DIRECTORY")
    options = parser.parse_args()
    seen, traces, calls = {}, 0, 0
    for file in trace_files(options.places):
        trace = Trace(file)
        traces += 1
        calls += trace.origin_calls_of_workers
        for violation in trace.violations:
            if violation.kind() not in seen:
                seen[violation.kind()] = 0
                print(violation)
            seen[violation.kind()] += 1
            if not options.all:
                return 1
    for kind, count in seen.items():
        print(f"{count:8} {kind}")
    print(f"{traces} traces; workers named origins in {calls} calls; "
          f"{sum(seen.values())} violations of the main process")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
