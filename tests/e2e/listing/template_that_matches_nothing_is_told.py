"""doctor, the daemon's log, status, push and warm report a template that matches nothing, and name
one that would match. The summary of a job reports it, too. A slow or hung origin delays no start,
and an empty directory is no mistake."""
import json
import os

from nodes import Nodes
from processes import expect, wait_until
from silent_server import SilentServer
from summary import zazenctl_run

with Nodes(1) as nodes:
    node = nodes[0]
    wrong = nodes.dataset(frames=500, name="wrong", template="frame-{seq:06}.xtc", sizes=(10,),
                          ordinary=False)
    right = nodes.dataset(frames=20, name="right", template="frame-{seq:06}.xtc", ordinary=False)
    deep = nodes.dataset(frames=20, name="deep", template="run1/{seq:04}/traj.dcd", ordinary=False)
    empty = nodes.dataset(frames=0, name="empty", ordinary=False)
    wrong.template, deep.template = "frame-{seq}.xtc", "run2/{seq:04}/traj.dcd"
    sentence = "0 of 500 names match frame-{seq}.xtc; frame-{seq:06}.xtc would match all"
    deep_sentence = "0 of 20 names match run2/{seq:04}/traj.dcd; run1/{seq:04}/traj.dcd would match all"
    told = [f"dataset {wrong.path}: {sentence}", f"dataset {deep.path}: {deep_sentence}"]
    nodes.configure()
    node.start()

    # The log and status.
    wait_until(lambda: node.said().count("event=warning") == 2, "the log of the start")
    for each in told:
        expect(f'level=warn event=warning what="{each}"' in node.said(), node.said())
    wait_until(lambda: [each for each in node.status()["warnings"] if each.startswith("dataset")] == told,
               "the warnings of status")
    done = node.ctl("status").succeeded()
    expect(f"\nwarning   {told[0]}\n" in done.stdout and ": healthy" in done.stdout, f"{done}")

    # doctor, push and warm.
    found = json.loads(node.ctl("doctor", "--json").stdout)["node"]
    datasets = {each["text"]: each for each in found if each["about"] == "dataset"}
    finding = datasets.get(f"{wrong.path}: {sentence}")
    expect(finding and finding["level"] == "warn" and "frames" in finding["hint"], f"{found}")
    expect(f"{deep.path}: {deep_sentence}" in datasets, f"{found}")
    for data in (right, empty):
        text = f"{data.path} ({data.template}): can be listed"
        expect(datasets[text]["level"] == "ok", f"{found}")
    for command in ("push", "warm"):
        for data, words in ((wrong, sentence), (deep, deep_sentence)):
            for option in ((), ("--dry-run",), ("--json",)):
                done = node.ctl(command, data.path, *option)
                expect(done.status == 1 and f"error: {data.path}: {words}\nhint: " in done.stderr, f"{done}")
        done = node.ctl(command, empty.path).succeeded()
        expect("there" in done.stderr and "match" not in done.stderr, f"{done}")
        node.ctl(command, right.path).succeeded()
        done = node.ctl(command, right.path, wrong.path)
        expect(done.status == 1 and f"{wrong.path}: {sentence}" in done.stderr, f"{done}")
    expect(node.held(right) == 20, "the dataset beside it is served")

    # The summary of a job that read such files.
    files = [wrong.file(name) for name in sorted(wrong.frames)]
    done = zazenctl_run(nodes, node, "cat", *files).succeeded()
    said = done.stderr.replace("\nzazen: ", " ")
    expect(said.startswith("zazen: 0 of 500 opens of frame-*.xtc in ") and
           f" match {wrong.template}: all was read from the origin in " in said and
           "zazenctl doctor tells" in said, f"{done}")
    expect(all(len(line) <= 80 for line in done.stderr.splitlines()), f"80 columns: {done}")

    # With the first frame it is over.
    wrong.write("frame-7.xtc", 10)
    wait_until(lambda: wrong.path not in str(node.status()["warnings"]), "a frame to be seen")
    node.ctl("warm", wrong.path).succeeded()

    # A reload tells of what it has added.
    added = nodes.dataset(frames=3, name="added", template="x{seq}", ordinary=False)
    added.template = "y{seq}"
    nodes.configure()
    node.signal(1)
    wait_until(lambda: f"{added.path}: 0 of 3 names match y{{seq}}; x{{seq}} would match all" in node.said(),
               "the log of the reload")
    expect(node.said().count(told[0]) == 1, "what was told is not told again")
    node.stop()

    if os.geteuid() == 0 and os.path.exists("/dev/fuse"):
        try:
            server = SilentServer(empty.path)
        except OSError:
            server = None
        if server:
            try:
                node.start()
                wait_until(lambda: told[1] in node.said(), "the log beside a hung origin")
                status = node.status()
                expect(f"dataset {empty.path}: the origin does not answer" in status["problems"], f"{status}")
                expect(told[1] in status["warnings"], f"{status}")
                node.stop()
            finally:
                server.close()
