"""A job that should be divided and is not says so in one line, with the reason. Where division
is required the job ends in MPI_Init. A job that need not be divided, or has one rank, prints
nothing."""
import os
import shutil
import socket

from dataset import Dataset
from nodes import MPI, MPIRUN, PROGRAMS, ZAZENCTL, Nodes, program
from processes import expect, run

REQUIRE = {"ZAZEN_FILTER": "require"}
OFF = {"ZAZEN_FILTER": "off"}
NO_DAEMON = "no rank reaches a daemon"

with Nodes(2) as nodes:
    data = nodes.dataset(frames=12)
    gone = nodes.dataset(frames=0, name="gone", ordinary=False)
    nodes.start()
    nodes.push(data)

    def mpirun(env=None, program="list_and_read_c", **options):
        only = {"ZAZEN_DATASETS": data.path}
        return nodes.mpirun(program, data, env=dict(only, **(env or {})), seconds=40, **options)

    def check(reason, env=None, **options):
        """The message of an undivided job, and its end where division is required."""
        mpirun(env, **options).check_unfiltered(says=reason)
        # Ranks without the shim wait for a word that never comes: Open MPI 4.1's mpirun may crash
        # or hang if a job is aborted while some of its ranks are in MPI_Finalize.
        mpirun(dict(env or {}, **REQUIRE), program="read_in_two_halves_c",
               **options).check_ended_at_once(reason)

    def ctl(*words, ranks=3, env=None, in_front=False):
        """A job by `zazenctl run`."""
        out, report = nodes.output_of_a_job()
        tool = [ZAZENCTL, "--config", nodes[0].config, "run", "--quiet", *words, "--"]
        launch = [MPIRUN, "-n", ranks]
        argv = [*tool, *launch] if in_front else [*launch, *tool]
        return nodes.start_job([*argv, *program("list_and_read_c"), data.path, out],
                               dict(nodes.env, **(env or {})), data, out, [nodes[0].name] * ranks,
                               report).finish(40)

    # It can be divided.
    mpirun().check_exactly_once()
    mpirun(REQUIRE).check_exactly_once()
    ctl("--divide", "--dataset", data.path, in_front=True).succeeded().check_silent()
    ctl("--no-divide").check_unfiltered()

    # A rank without the shim; the lowest that has it speaks.
    check("rank 2 did not", shims=[True, False])
    check("rank 0 did not", shims=[False, True])

    # The mpirun of another MPI: each process is alone.
    stranger = PROGRAMS + ("/mpich" if MPI == "openmpi" else "/..") + "/list_only_c"
    if os.path.exists(stranger):
        # Processes of Open MPI that begin together fail if all of them try to make this.
        os.makedirs(os.path.join(nodes.env["TMPDIR"], f"ompi.{socket.gethostname()}.{os.getuid()}"),
                    mode=0o700, exist_ok=True)

        def start(**env):
            return run([MPIRUN, "-n", "3", stranger, data.path, nodes.output_of_a_job()[0]],
                       dict(nodes.env, **nodes.shim(nodes[0]), **env))
        apart = "the launcher started 3 processes, and in MPI each is alone"
        said = start()
        expect(said.succeeded().stderr.count(apart) == said.stderr.count("zazen: ") == 1, f"{said}")
        ends = start(**REQUIRE)
        expect(ends.status != 0 and apart in ends.stderr, f"{ends}")
        expect(start(**OFF).succeeded().stderr == "", "ZAZEN_FILTER=off")

    # The ranks do not want the same.
    mpirun(shims=[True, OFF]).check_unfiltered(says="ZAZEN_FILTER=off on rank 2")
    mpirun(shims=[REQUIRE, OFF]).check_ended_at_once("ZAZEN_FILTER=off on rank 2")
    mpirun(OFF).check_unfiltered()

    # Two datasets, one of which cannot be divided.
    os.rmdir(gone.path)
    both = {"ZAZEN_DATASETS": f"{data.path}:{gone.path}"}
    missing = f"{gone.path}: No such file or directory"
    mpirun(both).check_exactly_once(says=f"only partly divided: every rank sees all frames of {missing}")
    mpirun(dict(both, **REQUIRE)).check_ended_at_once(
        f"the frames of {gone.path} cannot be divided among the ranks: No such file or directory")
    ctl("--divide").check_ended_at_once("No such file or directory")
    ctl("--divide", "--dataset", gone.path).check_ended_at_once("No such file or directory")
    nothing = {"ZAZEN_DATASETS": "/nowhere"}
    mpirun(nothing).check_unfiltered(says="all frames of /nowhere: no such dataset")
    mpirun(dict(nothing, **REQUIRE)).check_ended_at_once(
        "the frames of /nowhere cannot be divided among the ranks: no such dataset")

    # The nodes' configurations differ: a dataset that only one of them divides.
    single = Dataset(nodes.path("origin", "single"), 3, keys='filter = "require"')

    def only_on(owner):
        for node in nodes:
            node.configure([data, single] if node is owner else [data])
            node.stop()
            node.start()
        return nodes.mpirun("list_and_read_c", data, seconds=40)
    only_on(nodes[0]).check_exactly_once()  # it decides; the other one merely does not cache it
    only_on(nodes[1]).check_ended_at_once(
        f"the frames of {single.path} cannot be divided among the ranks: node n1 divides it by its "
        "configuration or environment, node n0 does not")

    # The dataset's own key.
    def use(keys):
        data.keys = keys
        nodes.configure()
        for node in nodes:
            node.stop()
            node.start()
    use("filter = false")
    mpirun().check_unfiltered()
    mpirun(shims=[True, False]).check_unfiltered()
    mpirun(REQUIRE).check_exactly_once()  # it is named
    use('filter = "require"')
    mpirun().check_exactly_once()
    mpirun(program="read_in_two_halves_c", shims=[True, False]).check_ended_at_once("rank 2 did not")
    mpirun(OFF, shims=[True, False]).check_unfiltered()
    use("")

    # No daemon: the table that a killed one and a stopped one left.
    for node in nodes:
        node.kill()
    check(NO_DAEMON)
    for node in nodes:
        node.start()
        node.stop()
    check(NO_DAEMON)
    ctl().check_says("not divided", data.path, NO_DAEMON)
    ctl("--divide", in_front=True).check_ended_at_once(NO_DAEMON)
    ctl("--no-divide").check_unfiltered()
    # No table at all: zazenctl knows the configuration, a plain preload nothing.
    for node in nodes:
        shutil.rmtree(node.runtime)
    ctl().check_says("not divided", f"all frames of {data.path}, {gone.path}: {NO_DAEMON}")
    ctl("--dataset", data.path, in_front=True).check_says(f"all frames of {data.path}: {NO_DAEMON}")
    ctl("--divide").check_ended_at_once(NO_DAEMON)
    ctl("--no-divide").check_unfiltered()
    mpirun().check_unfiltered()
    mpirun(REQUIRE).check_ended_at_once(NO_DAEMON)
    mpirun({"ZAZEN_FILTER": "on"}).check_unfiltered(says=NO_DAEMON)

    # One rank is as good as divided, whatever happens.
    ctl("--divide", ranks=1).check_unfiltered()
    mpirun(REQUIRE, ranks=[1, 0]).check_unfiltered()
    out, _ = nodes.output_of_a_job()
    alone = run([ZAZENCTL, "--config", nodes[0].config, "run", "--quiet", "--divide", "--",
                 *program("list_and_read_c"), data.path, out], nodes.env).succeeded()
    expect(alone.stderr == "", f"{alone}")

    both = ctl("--divide", "--no-divide")
    expect(both.status == 125 and "--no-divide" in both.stderr, f"{both.status} {both.stderr}")
