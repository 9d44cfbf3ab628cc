"""run prints one line at the end, for all processes of the job. report lists the jobs and compares
two."""
import json
import os
import re
import signal

from nodes import PYTHON, ZAZENCTL, Nodes
from processes import Process, expect, run, wait_until
from summary import check, zazenctl_run

FRAMES = 24
SLOW = 2  # seconds; a job that does not sleep is faster
LOCAL, ORIGIN = "all from this node's disk", "all from the origin"

# Each opens the frames of its argument list; some open one of them three times.
PROGRAMS = {
    "fork": """
import os
for part in (names[::2], names[1::2]):
    if os.fork() == 0:
        read(part)
        os._exit(0)
for _ in range(2): os.wait()
""",
    "spawn": """
import multiprocessing
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool: pool.map(read, [names[::2], names[1::2]])
""",
    "joblib": """
import joblib
joblib.Parallel(n_jobs=2)(joblib.delayed(read)(part) for part in (names[::2], names[1::2]))
""",
    "subprocess": """
import subprocess
for part in (names[::2], names[1::2]): subprocess.run(["cat", *part], check=True, stdout=subprocess.DEVNULL)
""",
    "its own _exit": "read(names); os._exit(0)\n",
    "exec": "os.execvp('cat', ['cat', *names])\n",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool: list(pool.map(lambda name: read([name]), names))
""",
    "a killed child": """
import signal
child = os.fork()
if child == 0:
    read(names)
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
""",
}

with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES)
    nodes.configure()
    node = nodes[0]
    files = [data.file(name) for name in sorted(data.frames)]

    def go(*words, **env):
        return zazenctl_run(nodes, node, *words, **env)

    def fits(done):
        return all(len(line) <= 80 for line in done.stderr.splitlines())

    def report(*words):
        return node.ctl("report", *words).succeeded().stdout

    def jobs():
        return json.loads(report("--json"))["jobs"]

    # Without a daemon there is nothing to count, which is said; --quiet says nothing.
    done = go("--", "cat", files[0]).succeeded()
    expect(re.match(r"zazen: no daemon answers at .*:\s(zazen: )?all was read from the origin in ",
                    done.stderr) and fits(done), f"{done}")
    expect(go("--quiet", "--", "cat", files[0]).succeeded().stderr == "", "quiet")

    node.start()
    expect(jobs() == [] and "No job" in report(), "nothing yet")
    done = go("--", "true").succeeded()
    expect(re.match(r"zazen: no frame of .* was opened in .* s;\szazen: ", done.stderr) and
           fits(done), f"{done}")

    # Nothing is cached; all is; and how long it took before, if that tells something. How long a
    # run takes is no part of its command.
    def timed(seconds, names, share, **more):
        done = go("--", "sh", "-c", 'sleep "$SECONDS_MORE"; cat "$@" | wc -c', "sh", *names,
                  SECONDS_MORE=str(seconds))
        return check(done, len(names), len(names), share, **more)

    timed(SLOW, files, ORIGIN, before=None)
    node.wait_for_copies(data, data.frames)
    for _ in range(2):
        timed(0, files, LOCAL, when="when nothing was cached")
    timed(0, files[1:], LOCAL, before=None)
    node.ctl("evict", files[0]).succeeded()
    timed(SLOW, files, "96% from this node's disk", when="when all was cached")
    node.wait_for_copies(data, data.frames)

    # Processes of every kind add to it. The bytes are of each frame once.
    size = timed(0, files, LOCAL)["bytes"]
    for kind, text in PROGRAMS.items():
        program = nodes.path("program.py")
        with open(program, "w") as file:
            file.write("import os, sys\nnames = sys.argv[1:]\ndef read(names):\n"
                       "    for name in names: open(name, 'rb').read()\n" + text)
        try:
            check(go("--", PYTHON, program, *files), FRAMES, FRAMES, LOCAL, bytes=size)
            written = nodes.path("report.json")
            check(go("--report", written, "--", PYTHON, program, *files), FRAMES, FRAMES, LOCAL)
            with open(written) as file:
                figures = json.load(file)
            os.remove(written)
            expect(figures["schema_version"] == 1 and figures["frames_read"] == FRAMES and
                   figures["hits"] == FRAMES and figures["duration_seconds"] > 0, f"{figures}")
        except AssertionError as error:
            raise AssertionError(f"{kind}: {error}") from error
    done = go("--", "sh", "-c", f"cat {files[7]} {files[6]} | wc -c; cat {files[7]} {files[7]} | cat")
    check(done, 2, 4, LOCAL)

    # The program's own standard error and status are its own.
    expect(go("--", "sh", "-c", f"cat {files[1]}; exit 7").status == 7, "its status")
    for closed in ("2>&-", "2>/dev/null", "2>/dev/full"):
        done = run(["sh", "-c", f"exec {ZAZENCTL} --config {node.config} run -- cat {files[2]} {closed}"],
                   nodes.env).succeeded()
        expect(done.stderr == "", f"{closed}: {done}")
    done = go("--", PYTHON, "-c", f"import os; os.close(2); fd = os.open({files[3]!r}, 0); assert fd == 2")
    expect(done.status == 0 and len(done.stderr.splitlines()) <= 1, f"{done}")
    # A pipe whose reader is gone, and one that nobody empties.
    for full in (False, True):
        reader, writer = os.pipe()
        if full:
            os.set_blocking(writer, False)
            while True:
                try:
                    os.write(writer, b"x" * 4096)
                except BlockingIOError:
                    break
            os.set_blocking(writer, True)
        else:
            os.close(reader)
        done = run(["sh", "-c", f"exec {ZAZENCTL} --config {node.config} run -- "
                    f"{PYTHON} -c 'open(\"{files[3]}\").close()' "
                                f"2>/proc/{os.getpid()}/fd/{writer}" if full else
                    f"{ZAZENCTL} --config {node.config} run -- cat {files[3]} 2>&1 >/dev/null | true"], nodes.env)
        expect(done.status == 0, f"{done}")
        os.close(writer)
        if full:
            os.close(reader)

    # A killed job prints nothing, and is listed with what it had done.
    program = nodes.path("waits.py")
    with open(program, "w") as file:
        file.write(f"import os, time\nopen({files[5]!r}).close()\n"
                   f"open({nodes.path('ready')!r}, 'w').close()\ntime.sleep(50)\n")
    process = Process([ZAZENCTL, "--config", node.config, "run", "--", PYTHON, program], nodes.env)
    wait_until(lambda: os.path.exists(nodes.path("ready")), "the program")
    expect(jobs()[0]["running"] and jobs()[0]["frames_read"] == 1, f"{jobs()[0]}")
    expect("running" in report("last"), report("last"))
    process.signal(signal.SIGKILL)
    expect(process.finish().stderr == "", "a killed job says nothing")
    killed = jobs()[0]
    expect(not killed["running"] and not killed["ended_in_order"] and killed["frames_read"] == 1,
           f"{killed}")
    node.stop()
    node.start()
    expect(not node.jobs_left() and jobs()[0] == killed, "the daemon puts it away")
    expect(f"{killed['job'][:8]}: not in order" in report(), report())

    # The list, and two jobs side by side. A program that was not started leaves no job.
    count = len(jobs())
    expect(go("--", "no-such-program").status == 127 and len(jobs()) == count, "no job")
    listed = [job for job in jobs() if job["frames_read"] == FRAMES and job["command"].startswith("sh -c sleep")]
    first, last = listed[-1], listed[0]
    expect(first["hits"] == 0 and first["misses"] == FRAMES and last["hits"] == FRAMES, f"{listed}")
    for job in (first, last):
        expect(job["duration_seconds"] > 0 and job["bytes_per_second"] > 0 and job["ranks"] == 0 and
               job["opens"] == FRAMES and job["ended_in_order"] and not job["divided"], f"{job}")
    words = report(last["job"])
    expect(f"{data.path}: {FRAMES} frames opened" in words and "it took " in words and
           "the same command before: " in words and ", 96% from the cache" in words, words)
    table = report(first["job"], last["job"])
    for word in ("duration", "frames", "rate", "0%", "100%", first["job"][:8], last["job"][:8], "both: sh"):
        expect(word in table, f"{word}: {table}")
    both = json.loads(report(first["job"], last["job"], "--json"))
    expect(both["jobs"] == [first, last] and both["times_faster"] > 0, f"{both}")
    one = json.loads(report(last["job"], "--json"))
    expect(one["frames_read"] == FRAMES and one["duration_seconds"] == round(last["duration_seconds"], 6),
           f"{one} {last}")
    expect(all(len(line) <= 80 for line in report().splitlines()), report())
