"""run: the program has its own exit status, signals and arguments. Failures of run itself are 125
to 127."""
import json
import os
import signal

from nodes import MPI, MPIRUN, SHIM, ZAZENCTL, Nodes, program
from processes import Process, expect, run, wait_until

with Nodes(1) as nodes:
    data = nodes.dataset(frames=24)
    nodes.configure()
    node = nodes[0]

    def zazenctl(*words, **env):
        return run([ZAZENCTL, "--config", node.config, *words], dict(nodes.env, **env))

    # No daemon: the program runs all the same, silently.
    done = zazenctl("run", "--quiet", "--", "cat", data.file("f3")).succeeded()
    expect(done.stderr == "", f"silent: {done}")
    expect("no daemon answers" in zazenctl("run", "--verbose", "true").succeeded().stderr, "a note")
    node.start()

    for status in (0, 1, 3, 200):
        expect(zazenctl("run", "--", "sh", "-c", f"exit {status}").status == status, "its status")
    for words, status in ((["no-such-program"], 127), (["/etc/passwd"], 126), ([], 125),
                          (["--vebrose", "true"], 125), (["--dataset", "/", "true"], 125)):
        done = zazenctl("run", *words)
        expect(done.status == status and done.stderr.startswith("zazenctl: error: "), f"{done}")
    expect(run([ZAZENCTL, "run", "--config", "/nowhere", "true"], nodes.env).status == 125, "config")
    done = zazenctl("run", "printf", "%s\n", "--json", "--", "-x").succeeded()
    expect(done.stdout == "--json\n--\n-x\n", f"the program's own options: {done}")

    process = Process([ZAZENCTL, "--config", node.config, "run", "sleep", "50"], nodes.env)
    wait_until(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/sleep"), "exec")
    process.signal(signal.SIGTERM)
    expect(process.finish().status == -signal.SIGTERM, "signals are the program's own")

    plan = json.loads(zazenctl("run", "--dry-run", "--json", "--report", "r.json", "--dataset",
                               data.path, "true", LD_PRELOAD="libm.so.6",
                               ASAN_OPTIONS="verify_asan_link_order=0").succeeded().stdout)
    env = plan["environment"]
    shim = os.path.realpath(SHIM)
    expect(env["LD_PRELOAD"] == shim + ":libm.so.6", f"prepended: {env}")
    expect(env["ZAZEN_CONFIG"] == node.config and env["ZAZEN_RUNTIME"] == node.runtime, f"{env}")
    expect(env["ZAZEN_DATASETS"] == data.path and os.path.isabs(env["ZAZEN_REPORT"]), f"{env}")
    expect("OMPI_MCA_mca_base_env_list" not in env, f"only for mpirun: {env}")

    done = zazenctl("run", "true", ZAZEN_FLITER="off").succeeded()
    expect("did you mean ZAZEN_FILTER?" in done.stderr, f"a misspelt variable: {done}")

    # In front of mpirun and behind it.
    zazenctl("push", data.path).succeeded()
    launch = [MPIRUN, "-n", "2"]
    for number, front in enumerate((True, False)):
        out = nodes.path(f"ranks-{number}")
        os.mkdir(out)
        report = os.path.join(out, "report.json")
        ctl = [ZAZENCTL, "--config", node.config, "run", "--report", report, "--"]
        words = [*ctl, *launch] if front else [*launch, *ctl]
        run([*words, *program("list_and_read_c"), data.path, out], nodes.env).succeeded()
        with open(report) as file:
            figures = json.load(file)
        expect(figures["exactly_once"] and figures["ranks"] == 2, f"{figures}")
        expect(figures["hits"] == 24, f"from the cache: {figures}")
    if MPI == "openmpi":
        run([ZAZENCTL, "--config", node.config, "run", *launch, "-x", "LC_ALL", "true"],
            nodes.env).succeeded()
