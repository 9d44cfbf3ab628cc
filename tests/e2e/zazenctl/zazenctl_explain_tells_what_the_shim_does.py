"""explain: its words about a path agree with a program behind the shim, in each state of the frame.
This holds also when zazenctl itself runs behind the shim."""
import json
import os
import signal

from nodes import BUILD, SHIM, ZAZENCTL, Nodes
from processes import expect, run, wait_until

VIEW_TOOL = f"{BUILD}/tests/posix/view_tool"
OLD = (1e9, 1e9)


def explain(node, *paths, cwd=None, words=(), **env):
    done = run([ZAZENCTL, "--config", node.config, "explain", "--json", *words, *paths],
               dict(nodes.env, **env), cwd=cwd).succeeded()
    expect(done.stderr == "", f"{done}")
    return json.loads(done.stdout)["paths"]


def opened(node, path, cwd=None, **env):
    """Runs `cat` behind the shim: its exit status, hits and misses."""
    report = nodes.path("report.json")
    if os.path.exists(report):
        os.unlink(report)
    done = nodes.serial(node, ["cat", path], cwd=cwd, ZAZEN_REPORT=report, **env)
    if not os.path.exists(report):  # the shim was not active
        return done.status, 0, 0
    with open(report) as file:
        figures = json.load(file)
    return done.status, figures["hits"], figures["misses"]


def check(node, path, kind, reads, word, misses=None, cwd=None, **env):
    said = explain(node, path, cwd=cwd, **env)[0]
    expect((said["kind"], said["reads"]) == (kind, reads), f"{path}: {said}")
    expect(word in said["because"] + said["rule"], f"{path}: {word} in {said}")
    status, hits, missed = opened(node, path, cwd=cwd, **env)
    expect(hits == (reads == "cache"), f"{path}: {hits} hits, but {said}")
    expect(missed == (reads == "origin" and kind == "frame" if misses is None else misses),
           f"{path}: {missed} misses, but {said}")
    expect((status != 0) == (reads == "nothing" or "a directory" in said["because"]),
           f"{path}: cat ends with {status}, but {said}")
    return said


def make_old(data):
    for name in data.frames:
        os.utime(data.file(name), OLD)


with Nodes(1) as nodes:
    data = nodes.dataset(frames=12)
    padded = nodes.dataset(frames=4, name="padded", template="run1/x-{seq:04}.xtc",
                           ordinary=False, keys='validate = "never"\nfill = "wait"')
    nested = nodes.dataset(frames=4, name="nested", template="{seq}/traj.dcd", ordinary=False)
    for each in (data, padded, nested):
        make_old(each)
    node = nodes[0]
    nodes.configure()

    check(node, data.file("f0"), "frame", "origin", "no daemon runs", misses=0)
    expect(not explain(node, data.path)[0]["divided"], "no daemon, no filter")
    node.start()
    nodes.warm(node, data, [f"f{seq}" for seq in (0, 3, 4, 5, 6)])
    nodes.warm(node, padded, [])
    done = nodes.serial(node, ["cat", padded.file("run1/x-0001.xtc"), nested.file("1/traj.dcd")])
    done.succeeded()
    node.ctl("push", nested.path).succeeded()

    # The states of a frame.
    said = check(node, data.file("f0"), "frame", "cache", "as the origin")
    expect(said["copy"]["kind"] == "alien" and said["writing_drops_copy"], f"{said}")
    expect(said["copy"]["bytes"] == data.sums["f0"][0] and said["seq"] == 0, f"{said}")
    said = check(node, nested.file("2/traj.dcd"), "frame", "cache", "{seq}/traj.dcd")
    expect(said["copy"]["kind"] == "native", f"{said}")
    said = check(node, data.file("f1"), "frame", "origin", "there is no copy")
    expect("asked to copy" in said["then"], f"{said}")
    said = explain(node, padded.file("run1/x-0002.xtc"))[0]
    expect("the open waits" in said["then"], f"{said}")

    os.unlink(data.file("f4"))
    said = check(node, data.file("f4"), "frame", "nothing", "No such file")
    expect(said["copy"]["differs"] == ["the origin is gone"], f"{said}")
    data.write("f3", 17)
    said = check(node, data.file("f3"), "frame", "origin", "stale: ")
    expect({"size", "mtime", "ctime", "ino"} >= set(said["copy"]["differs"]) >= {"size", "mtime"},
           f"{said}")
    wait_until(lambda: "at each open: " in explain(node, data.file("f0"))[0]["checked"],
               "the dataset is looked at closely")
    padded_file = padded.file("run1/x-0001.xtc")
    os.utime(padded_file, (2e9, 1e9))
    said = check(node, padded_file, "frame", "cache", "not checked")
    expect(said["copy"]["differs"] == ["ctime"] and "never" in said["checked"], f"{said}")
    os.chmod(nested.file("3/traj.dcd"), 0o640)
    check(node, nested.file("3/traj.dcd"), "frame", "origin", "stale: ctime")

    nested.write("9/traj.dcd", 99)
    nodes.serial(node, ["cat", nested.file("9/traj.dcd")]).succeeded()
    wait_until(lambda: os.path.exists(node.cache + nested.file("9/traj.dcd")), "the young copy")
    said = check(node, nested.file("9/traj.dcd"), "frame", "cache", "")
    expect("young" in said["checked"] or "stale" in said["checked"], f"{said}")

    # Names that are and are not frames.
    os.symlink("f5", data.file("f200"))
    os.mkdir(data.file("f201"))
    os.symlink(data.path, nodes.path("link"))
    os.symlink(data.file("f5"), nodes.path("f5"))
    os.symlink(data.file("f5"), nodes.path("shortcut"))
    check(node, data.file("f200"), "frame", "origin", "a symbolic link")
    check(node, data.file("f201"), "frame", "origin", "a directory", misses=0)
    check(node, data.file("f01"), "ordinary", "origin", "not canonical: f01 is not a name of f{seq}, "
          "which writes f1")
    check(node, data.file("topology.top"), "ordinary", "origin", "frames of this dataset are named")
    check(node, data.file("nothing"), "ordinary", "nothing", "No such file")
    check(node, padded.file("run1/x-1.xtc"), "ordinary", "nothing", "writes x-0001.xtc")
    check(node, nodes.path("f5"), "ordinary", "origin", "lies in another directory")
    check(node, nodes.path("shortcut"), "ordinary", "origin", "no dataset's template matches")
    check(node, nodes.path("none", "f5"), "ordinary", "nothing", "another directory")
    check(node, data.file("f5/"), "ordinary", "nothing", "ends with '/'")
    for path in (nodes.path("link", "f5"), nodes.path("link/.//", "f5"),
                 os.path.join(data.path, "..", "sim1", "f5")):
        check(node, path, "frame", "cache", "f{seq}")
    for path, cwd in (("f6", data.path), ("./f6", data.path), ("../sim1/f6", data.path),
                      ("f6", nodes.path("link")), ("link/f6", nodes.directory)):
        check(node, path, "frame", "cache", "f{seq}", cwd=cwd)
    check(node, data.file("f0"), "frame", "origin", "ZAZEN_DISABLE", misses=0, ZAZEN_DISABLE="1")
    check(node, data.file("f0"), "frame", "cache", "", ZAZEN_DISABLE="0")

    # Directories.
    said = explain(node, data.path, padded.path, padded.file("run1"), nodes.directory)
    expect([each["kind"] for each in said] == ["directory"] * 3 + ["ordinary"], f"{said}")
    expect(said[0]["frames"] == 12 and said[0]["divided"], f"{said}")  # f4 went, f200 came
    expect(said[0]["alien"] == node.held(data, "alien"), f"{said}")
    expect(not explain(node, data.path, ZAZEN_FILTER="off")[0]["divided"], "ZAZEN_FILTER")
    expect(not explain(node, data.path, ZAZEN_DATASETS="/x")[0]["divided"], "ZAZEN_DATASETS")

    # A rank's view: whose frame it is, as the rank's listing shows it.
    view = nodes.path("view")
    os.mkdir(view)
    under_view = [VIEW_TOOL, "run", view, data.path, "f{seq}", "9", "2", "5", "--"]
    shown = run([*under_view, "env", f"LD_PRELOAD={SHIM}", f"ZAZEN_CONFIG={node.config}", "ls",
                 data.path], nodes.env).succeeded().stdout.split()
    os.mkdir(view)  # a rank takes its view with it
    run([*under_view, "true"], nodes.env).succeeded()
    names = ("f2", "f5", "f6", "f11")
    said = explain(node, *map(data.file, names), data.path, words=("--view", view))
    expect([each["frame_is"] for each in said[:4]] ==
           ["own", "own", "another rank's", "arrived later"], f"{said}")
    expect([name for name in names if name in shown] == ["f2", "f5"], f"{shown}")
    expect(said[4]["listed"] == 2, f"{said}")
    text = node.ctl("explain", "--view", view, *map(data.file, names)).succeeded().stdout
    lines = [line for line in text.splitlines() if line.lstrip().startswith("rank ")]
    for line, words in zip(lines, ("its own", "its own", "another rank's", "shown to no rank"),
                           strict=True):
        expect(words in line, f"{words} in {text}")
    expect(said == explain(node, *map(data.file, names), data.path, ZAZEN_VIEW=view), "inherited")
    done = node.ctl("explain", "--view", "/nowhere", data.path)
    expect(done.status == 1 and "hint: " in done.stderr, f"{done}")

    # Behind the shim it says the same: it asks the kernel, not the hooks.
    data.write("f6", 23)
    paths = [data.file(name) for name in sorted(data.names)] + [data.path, padded_file]
    plain = explain(node, *paths)
    expect("stale" in explain(node, data.file("f6"))[0]["because"], "f6 is no test")
    hooked = nodes.serial(node, ["stat", "-c", "%z", padded_file]).succeeded().stdout
    expect(hooked != run(["stat", "-c", "%z", padded_file], nodes.env).stdout,
           "what the hooks say of a copy that is never checked is old: the test is no test")
    behind = explain(node, *paths, **nodes.shim(node),
                     ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    expect(behind == plain, f"{behind}\nnot {plain}")

    # For people; and what is wrong usage.
    text = node.ctl("explain", data.file("f0"), data.path).succeeded().stdout
    for word in (data.file("f0") + "\n", "frame     0 of ", "copy      fetched, ", "reading   from the ca",
                 "writing   at the origin", "listing   an MPI job"):
        expect(word in text, f"{word} in {text}")
    expect(node.ctl("explain").status == 2, "no path")

    # Another user, who has neither the daemon nor the right to read.
    other = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    for directory in (nodes.directory, node.directory):
        os.chmod(directory, 0o755)
    os.chmod(data.file("f1"), 0o600)
    if os.geteuid() == 0 and run([*other, "ls", data.path, ZAZENCTL], nodes.env).status == 0:
        done = run([*other, ZAZENCTL, "--config", node.config, "explain", "--json",
                    data.file("f0"), data.file("f1")], nodes.env).succeeded()
        said = json.loads(done.stdout)["paths"]
        expect((said[0]["reads"], said[1]["reads"]) == ("origin", "nothing"), f"{said}")
        expect(f"{node.runtime} is another user's" in said[0]["because"], f"{said}")
        expect(said[1]["because"] == "Permission denied at the origin", f"{said}")

    # A daemon that hangs, and one that was killed.
    node.signal(signal.SIGSTOP)
    wait_until(lambda: "hangs" in explain(node, data.file("f0"))[0]["because"], "no heartbeat")
    said = check(node, data.file("f0"), "frame", "origin", "hangs")
    expect(said["writing_drops_copy"], f"{said}")
    node.signal(signal.SIGCONT)
    wait_until(lambda: explain(node, data.file("f0"))[0]["reads"] == "cache", "it serves again")
    node.kill()
    said = check(node, data.file("f0"), "frame", "origin", "is dead")
    expect(said["writing_drops_copy"], f"{said}")
