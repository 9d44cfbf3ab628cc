"""report: tells which rank read which frames and which frames were lost, also for ranks that were
killed or left early."""
import json
import os
import signal

from nodes import Nodes
from processes import expect, wait_until

FIGURES = ("filtered", "complete", "frames_listed", "frames_read", "frames_read_twice",
           "frames_never_read", "exactly_once", "hits", "misses", "bytes_local", "bytes_origin",
           "nodes", "ranks", "per_rank")

with Nodes(2) as nodes:
    data = nodes.dataset(frames=20)
    nodes.start()
    nodes.push(data)

    def report(*words):
        return nodes[0].ctl("report", *words).succeeded().stdout

    def jobs():
        return json.loads(report("--json"))["jobs"]

    expect(jobs() == [] and "No job" in report(), "nothing yet")

    # In order: the same figures as rank 0 wrote.
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    listed = jobs()
    expect(len(listed) == 1 and listed[0]["ranks_known"] == 4, f"{listed}")
    expect(listed[0]["exactly_once"] and listed[0]["ended_in_order"], f"{listed}")
    expect(data.path in listed[0]["command"], f"{listed}")
    merged = json.loads(report("last", "--json"))
    for key in FIGURES:
        expect(merged[key] == job.report[key], f"{key}: {merged} and {job.report}")
    expect(merged["protocol_seconds"] > 0 and merged["frames_arrived_later"] is None, f"{merged}")
    words = report(listed[0]["job"][:8])
    expect("Each frame was read exactly once." in words, words)
    expect("20 frames listed, 20 read, 0 of them by several ranks, 0 never read" in words, words)
    expect(words.count("in order") == 4, words)

    # It divides the list itself: frames are lost, and the switch is named.
    job = nodes.mpirun("divide_the_list_c", data)
    words, merged = report("last"), json.loads(report("last", "--json"))
    expect(merged["frames_never_read"] == job.report["frames_never_read"] > 0, f"{merged}")
    expect("ZAZEN_FILTER=off" in words and "never read: " in words, words)
    expect("without a word" not in words, words)

    # Every rank is killed between two frames: what they had read until then is known.
    running = nodes.start_mpirun("read_in_two_halves_c", data)
    running.wait_until_ready()
    words = report("last")
    expect("running" in words and "The job still runs" in words, words)
    half = json.loads(report("last", "--json"))
    expect(0 < half["frames_read"] < 20, f"{half}")
    number = jobs()[0]["job"]
    os.killpg(running._process.pid, signal.SIGKILL)
    nodes.running.remove(running._process)
    running._process.kill_session()
    wait_until(lambda: not jobs()[0]["running"], "the ranks to die")
    for node in nodes:  # the daemon puts away what they left
        node.stop()
        node.start()
        expect(not node.jobs_left(), "the views of dead ranks are put away")
    expect(jobs()[0]["job"] == number and len(jobs()) == 3, f"{jobs()}")
    expect(not jobs()[0]["ended_in_order"], f"{jobs()}")
    words, merged = report(number), json.loads(report(number, "--json"))
    for key in ("frames_read", "frames_never_read", "per_rank"):
        expect(merged[key] == half[key], f"{key}: {merged} and {half}")
    expect("ranks 0-3 ended without a word" in words and "run the job again" in words, words)
    expect("ZAZEN_FILTER=off" not in words, words)

    # No daemon is needed, and other nodes' directories can be taken in.
    nodes[0].stop()
    nodes[1].stop()
    with open(nodes[0].config) as file:
        text = file.read()
    with open(nodes[0].config, "w") as file:
        file.write("".join(line + "\n" for line in text.splitlines()
                           if not line.startswith("peers")))
    words = report(number)
    expect("Of ranks 2 and 3 nothing is known here" in words, words)
    merged = json.loads(report(number, "--json"))
    expect([rank["reported"] for rank in merged["per_rank"]] == [True, True, False, False],
           f"{merged}")
    merged = json.loads(report(number, "--json", "--from", nodes[1].runtime))
    expect(merged["per_rank"] == half["per_rank"], f"{merged}")

    expect(nodes[0].ctl("report", "no-such-job").status == 1, "no such job")
    expect(nodes[0].ctl("report", "").status == 1, "the empty beginning")
