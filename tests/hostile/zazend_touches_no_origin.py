"""The main process of zazend reads nothing from clients and names no path of an origin (D23).

Scripts of other tests run with watched_zazend in place of zazend; then check_watch.py judges
the traces. Without an argument a choice of scripts runs, with --all each script of FOLDERS
once, with names (e2e.empty_directory) these.
"""
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from check_watch import Trace, trace_files
from nodes import BUILD, BUILT_ZAZEND, PYTHON, SKIPPED, is_sanitized, skip
from processes import Failure, Process, expect

HARNESS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness",
                                        "watch"))
FOLDERS = ("e2e", "users", "hostile", "fills", "writer", "push")
CHOICE = (  # the longest first
    "e2e.sweep_finds_single_rewritten_frames",
    "push.zazenctl_push_goes_over_tcp",
    "users.mpi_jobs_of_two_users",
    "e2e.reload_loses_no_hit",
    "e2e.writes_through_the_shim_invalidate",
    "e2e.c_program_reads_each_frame_once",
    "e2e.natives_on_two_nodes",
    "push.content_waits_for_the_origin",
    "users.lost_invalidations_are_doubts_that_end",
    "users.who_may_ask_for_what",
    "push.notices_drop_nothing_that_is_current",
    "e2e.frame_being_written_is_not_served_half",
    "e2e.fill_wait_has_the_copy_at_once",
    "e2e.serial_program_misses_then_hits",
)
UNWATCHED = {  # of --all
    **dict.fromkeys(("e2e.systemd_unit_is_sandboxed", "users.swaps_at_every_step_open_nothing",
                     "users.systemd_unit_serves_all_users"),
                    "it traces zazend"),
    **dict.fromkeys(("hostile.killed_workers_hold_no_frame",
                     "hostile.connections_that_linger_are_closed",
                     "hostile.lingering_descriptors_delay_nobody",
                     "hostile.silent_worker_is_replaced", "hostile.stop_takes_a_second",
                     "hostile.stopped_fill_keeps_nobody_from_the_frame",
                     "hostile.whoever_waits_for_a_killed_worker_goes_on",
                     "hostile.workers_that_are_killed_or_stopped",
                     "push.closed_connections_prove_nothing",
                     "users.flood_of_one_user_starves_nobody_else",
                     "users.passed_descriptors_keep_their_state",
                     "users.signals_of_passed_descriptors_reach_nobody",
                     "users.stopped_daemon_distrusts_its_copies"),
                    "a stopped process that is traced has another state in /proc"),
    "e2e.refused_threads_end_no_daemon": "it leaves strace no process",
    "hostile.many_users_lock_nobody_out": "hundreds of workers are too slow under strace",
    "hostile.own_file_systems_delay_their_user_only": "strace waits for workers that cannot end",
}
# The claim of a script is checked by its own test, and zazend is slow under strace. But enough
# scripts must pass that the watch sees everything that zazend does.
MOST_FAILURES = 0.1
LIMIT_SECONDS = 400
AT_ONCE = 4


def registered_tests():
    """The tests that are Python scripts, each script once, as ctest would run them."""
    listing = subprocess.run(
        ["ctest", "--test-dir", BUILD, "-C", "long", "--show-only=json-v1",
         "-R", rf"^({'|'.join(FOLDERS)})\."], capture_output=True, check=True, text=True)
    tests, seen = {}, set()
    for test in json.loads(listing.stdout)["tests"]:
        command = test.get("command", [])
        if len(command) < 2 or not command[1].endswith(".py") or command[1] in seen:
            continue
        seen.add(command[1])
        properties = {entry["name"]: entry["value"] for entry in test["properties"]}
        variables = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        tests[test["name"]] = command, variables, properties.get("WORKING_DIRECTORY")
    return {name: test for name, test in tests.items()
            if os.path.basename(test[0][1]) != os.path.basename(__file__)}


def watch(directory, zazend):
    """The environment in which watched_zazend starts `zazend`."""
    os.makedirs(directory)
    os.chmod(directory, 0o1777)  # a script may start zazend as another user
    return dict(os.environ, ZAZEN_TEST_ZAZEND=f"{HARNESS}/watched_zazend",
                WATCHED_ZAZEND=zazend, WATCH_DIRECTORY=directory)


def traces_of(directory):
    """The traces there, once strace has written them to the end."""
    traces = {}
    give_up = time.monotonic() + 60
    while True:
        for file in trace_files([directory]):
            if file not in traces or not traces[file].is_complete:
                traces[file] = Trace(file)
        if all(trace.is_complete for trace in traces.values()) or time.monotonic() > give_up:
            return list(traces.values())
        time.sleep(0.1)


class Script:
    """One run of a test under the watch."""

    def __init__(self, name, test, directory):
        self.name = name
        command, variables, working_directory = test
        begin = time.monotonic()
        process = Process(command, dict(watch(directory, BUILT_ZAZEND), **variables),
                          working_directory)
        self.problem, self.is_skipped = "", False
        while process.running() and time.monotonic() < begin + LIMIT_SECONDS:
            time.sleep(0.05)
        if process.running():
            process.signal(signal.SIGINT)  # so that it ends its daemons
        try:
            done = process.finish()
            self.is_skipped = done.status == SKIPPED
            self.problem = "" if done.status in (0, SKIPPED) else str(done)
        except Failure as failure:
            self.problem = str(failure)
        self.seconds = time.monotonic() - begin
        self.traces = traces_of(directory)
        if not all(trace.is_complete for trace in self.traces):
            self.problem += f"{name}: a trace has no end"
        self.violations = [one for trace in self.traces for one in trace.violations]
        self.origin_calls = sum(trace.origin_calls_of_workers for trace in self.traces)
        shutil.rmtree(directory)

    def __str__(self):
        outcome = "failed" if self.problem else "skipped" if self.is_skipped else "passed"
        return (f"{self.name}: {outcome} in {self.seconds:.1f} s, {len(self.traces)} traces, "
                f"{self.origin_calls} calls of workers to origins, "
                f"{len(self.violations)} violations")


def run_watched(name, test, top):
    """All runs of it: a second one if it fails, for everything is slower under the watch."""
    runs = [Script(name, test, os.path.join(top, name))]
    if runs[0].problem:
        runs.append(Script(name, test, os.path.join(top, f"{name}-again")))
    return runs


def check_scripts(tests, top):
    """Runs the tests. One violation of each kind is printed."""
    seen, failed, sockets_read = set(), [], set()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {pool.submit(run_watched, name, test, top): name
                   for name, test in tests.items()}
        for future in concurrent.futures.as_completed(waiting):
            name = waiting[future]
            runs = future.result()
            for script in runs:
                sockets_read.update(*(trace.sockets_read for trace in script.traces))
                print(script, script.problem, sep="\n" if script.problem else "", flush=True)
                for violation in script.violations:
                    if violation.kind() not in seen:
                        seen.add(violation.kind())
                        print(violation, flush=True)
            if runs[-1].problem:
                failed.append(name)
            # Without root strace reads no strings of workers, which are not dumpable.
            elif (name in CHOICE and not runs[-1].is_skipped and os.geteuid() == 0 and
                  runs[-1].origin_calls == 0):
                failed.append(name)
                print(f"{name}: no worker was seen at an origin")
    print(f"the main process read from these sockets: {', '.join(sorted(sockets_read)) or 'none'}")
    expect(not seen, f"zazend's main process did what only workers may do: {len(seen)} kinds")
    expect(len(failed) <= MOST_FAILURES * len(tests), f"failed under the watch: {failed}")


# ---- The watch can fail

def watch_false_zazend(action, top):
    """The trace of a false zazend that does it."""
    directory = os.path.join(top, f"false-{action}")
    place = os.path.join(directory, "node")
    origin = f"{place}/origin/sim1"
    for made in (origin, f"{place}/cache{origin}"):
        os.makedirs(made)
        open(f"{made}/f1", "w").close()
        os.symlink("f1", f"{made}/f2")
    os.mkdir(f"{place}/run")
    os.symlink(f"{origin}/f1", f"{place}/run/link")
    config = f"{place}/zazen.toml"
    with open(config, "w") as file:
        file.write(f'cache = "{place}/cache"\nruntime = "{place}/run"\n'
                   f'[[dataset]]\npath = "{origin}"\nframes = "f{{seq}}"\n')
    env = watch(f"{directory}/traces", PYTHON)
    Process([env["ZAZEN_TEST_ZAZEND"], f"{HARNESS}/false_zazend.py", "--config", config, action],
            env).finish().succeeded()
    traces = traces_of(f"{directory}/traces")
    expect(len(traces) == 1 and traces[0].origins, f"{action}: there is no trace of it")
    return traces[0]


ACTIONS = {  # by what check_watch.py says of them
    "": ("copies", "neighbours", "accept", "forker"),
    "named a path of an origin": ("stat", "open", "missing", "list", "relative", "directory",
                                  "link", "rename", "thread", "child", "name", "reload"),
    "looked into another process": ("process",),
    "read from a client": ("read", "peek"),
    "received a descriptor": ("receive",),
    "read from /proc/self/fd/": ("answer",),  # a server
    "read from a socket of unknown descent": ("pair",),
    "changed its user": ("user",),
}


def check_that_the_watch_can_fail(top):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        traces = {action: pool.submit(watch_false_zazend, action, top)
                  for actions in ACTIONS.values() for action in actions}
    for words, actions in ACTIONS.items():
        for action in actions:
            found = [one.what for one in traces[action].result().violations]
            if words:
                expect(any(what.startswith(words) for what in found), f"{action}: unseen: {found}")
            else:
                expect(not found, f"{action} is allowed, and is called a violation: {found}")
    expect(traces["forker"].result().origin_calls_of_workers > 0, "nothing is seen of workers")


if not shutil.which("strace"):
    skip("strace is not installed")
if is_sanitized():
    skip("sanitizers do not work under strace")
parent = os.path.join(BUILD, "tests", "tmp")
os.makedirs(parent, exist_ok=True)
top = tempfile.mkdtemp(prefix="watch-", dir=parent)
os.chmod(top, 0o711)  # for zazend of other users
try:
    check_that_the_watch_can_fail(top)
    known = registered_tests()
    names = sys.argv[1:] or CHOICE
    if names == ["--all"]:
        names = [name for name in known if name not in UNWATCHED]
    unknown = [name for name in names if name not in known]
    expect(not unknown, f"no such tests: {unknown}")
    check_scripts({name: known[name] for name in names}, top)
finally:
    shutil.rmtree(top)
