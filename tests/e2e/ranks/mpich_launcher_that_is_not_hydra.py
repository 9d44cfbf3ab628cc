"""A launcher of MPICH programs answers one init only, as Slurm's pmi2. Nothing is sent to it before
MPICH's own messages, the job ends, and every rank sees all. With ZAZEN_FILTER=on the job is
filtered. The others wait for a rank that is delayed by 12 s, and say so, and nothing is left
pending on MPI_COMM_WORLD."""
import os
import socket
import subprocess
import tempfile
import threading

from job import Job
from nodes import PROGRAMS, SHIM, Nodes, program
from processes import Finished, expect

RANKS = 3


class Launcher:
    """PMI-1 for the ranks of one job: a line each way on a socket that each inherits."""

    def __init__(self, variables):
        self.first_lines = []
        self._variables = variables
        self._store = {"PMI_process_mapping": f"(vector,(0,1,{RANKS}))"}
        self._fence = threading.Barrier(RANKS)

    def run(self, argv, seconds):
        processes, threads = [], []
        stderr = tempfile.TemporaryFile("w+")
        for rank in range(RANKS):
            ours, theirs = socket.socketpair()
            env = dict(self._variables, PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank),
                       PMI_SIZE=str(RANKS))
            processes.append(subprocess.Popen(argv, env=env, pass_fds=[theirs.fileno()],
                                              stderr=stderr))
            theirs.close()
            threads.append(threading.Thread(target=self._serve, args=(ours,), daemon=True))
            threads[-1].start()
        try:
            statuses = [process.wait(seconds) for process in processes]
        finally:
            for process in processes:
                process.kill()
        stderr.seek(0)
        return Finished(argv, max(statuses), "", stderr.read())

    def _serve(self, connection):
        started = False
        with connection, connection.makefile("rw") as lines:
            for line in lines:
                if not started:
                    self.first_lines.append(line)
                answer = self._answer(dict(word.split("=", 1) for word in line.split()), started)
                started = True
                if answer is not None:
                    lines.write(f"cmd={answer}\n")
                    lines.flush()

    def _answer(self, command, started):
        match command["cmd"]:
            case "init" if not started:
                return "response_to_init pmi_version=1 pmi_subversion=1 rc=0"
            case "get_maxes":
                return "maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
            case "get_appnum":
                return "appnum appnum=0"
            case "get_my_kvsname":
                return "my_kvsname kvsname=store"
            case "put":
                self._store[command["key"]] = command["value"]
                return "put_result rc=0 msg=success"
            case "get":
                value = self._store.get(command["key"])
                found = f"rc=0 msg=success value={value}"
                return "get_result " + ("rc=-1 msg=not_found value=unknown" if value is None else found)
            case "barrier_in":
                self._fence.wait()
                return "barrier_out"
            case "finalize":
                return "finalize_ack"


def launch(nodes, data, name, which="list_and_read_c", **more):
    out = nodes.path(name)
    os.mkdir(out)
    report = os.path.join(out, "report.json")
    launcher = Launcher({**nodes.env, **nodes.shim(nodes[0], ZAZEN_REPORT=report), **more})
    done = launcher.run([*program(which), data.path, out], 60)
    expect(all(line.startswith("cmd=init ") for line in launcher.first_lines),
           f"{launcher.first_lines}")
    return Job(done, data, out, [nodes[0].name] * RANKS, report)


with Nodes(1) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    job = launch(nodes, data, "plain")
    job.check_unfiltered(says="the launcher has no store")
    expect("not every rank" in job.report["reason"], f"{job.report}")
    launch(nodes, data, "vouched", ZAZEN_FILTER="on").check_exactly_once()
    job = launch(nodes, data, "held up", "sum_in_background_c", ZAZEN_FILTER="on",
                 LD_PRELOAD=f"{SHIM}:{PROGRAMS}/libhold_up.so", HOLD_AT="init", HOLD_RANK="2",
                 HOLD_SECONDS="12")
    expect(job.stderr.startswith("zazen: rank 0 has waited for the other ranks for 10 s. ZAZEN_FILTER=on")
           and job.stderr.count("\n") == 2 and "ZAZEN_FILTER=off\n" in job.stderr, job.stderr)
    job.stderr = ""
    job.check_exactly_once()
