"""For a ZAZEN_ variable with an invalid value `zazenctl run` fails with 125 and names the accepted
values. A preloaded program says so in one line for the whole job and runs as without the variable.
ZAZEN_DISABLE disables with every value but 0."""
import os

from nodes import MPIRUN, SHIM, ZAZENCTL, Nodes, program
from processes import expect, run

WRONG = (("ZAZEN_FILTER", "no", "on, off or require"), ("ZAZEN_FILTER", "0", "on, off or require"),
         ("ZAZEN_FILTER", "OFF", "on, off or require"),
         ("ZAZEN_FILTER", "banana", "on, off or require"),
         ("ZAZEN_PROTOCOL", "peper", "exchange or paper"),
         ("ZAZEN_LOG", "loud", "off, warn, info or debug"), ("ZAZEN_DISABLE", "maybe", "0 or 1"),
         ("ZAZEN_BEGIN", "ten", "a whole number"), ("ZAZEN_END", "-1", "a whole number"),
         ("ZAZEN_STRIDE", "0", "a whole number from 1 on"))

with Nodes(1) as nodes:
    data = nodes.dataset(frames=12)
    nodes.start()
    nodes.push(data)
    node = nodes[0]
    shim = dict(nodes.env, **nodes.shim(node))

    def complaints(stderr):
        return [line for line in stderr.splitlines() if "it may be" in line]

    for name, value, accepted in WRONG:
        wrong = {name: value}
        done = run([ZAZENCTL, "--config", node.config, "run", "echo", "ran"], dict(nodes.env, **wrong))
        expect(done.status == 125 and done.stdout == "", f"{done}")
        expect(done.stderr == f"zazenctl: error: {name}={value}: not a value of this variable\n"
                              f"hint: it may be {accepted}\n", f"{done}")
        # The doctor has the same list.
        done = run([ZAZENCTL, "--config", node.config, "doctor"], dict(nodes.env, **wrong))
        expect(f"{name}={value}: not a value of this variable" in done.stdout, f"{done}")

        # A shell, and what it starts: the shell has said it.
        done = run(["sh", "-c", f"cat {data.file('f1')}; sh -c 'ls {data.path} | wc -l'; exec true"],
                   dict(shim, **wrong)).succeeded()
        said = complaints(done.stderr)
        expect(len(said) == 1 and said == done.stderr.splitlines(), f"{done}")
        answer = "taken for 1" if name == "ZAZEN_DISABLE" else "ignored"
        expect(said[0].startswith(f"zazen: {name}={value}: {answer}") and
               said[0].endswith(f"; it may be {accepted}"), f"{said}")

    # A path that is no dataset, as with --dataset.
    for typo in ("/typo", f"{data.path}:/typo"):
        done = run([ZAZENCTL, "--config", node.config, "run", "echo", "ran"],
                   dict(nodes.env, ZAZEN_DATASETS=typo))
        expect(done.status == 125 and done.stdout == "" and "ZAZEN_DATASETS" in done.stderr and
               "/typo" in done.stderr, f"{done}")
        named = nodes.mpirun("list_and_read_c", data, ranks=3, env={"ZAZEN_DATASETS": typo}).succeeded()
        named.check_says("divided: every rank sees all frames of /typo: no such dataset")
        named = nodes.mpirun("list_and_read_c", data, ranks=3,
                             env={"ZAZEN_DATASETS": typo, "ZAZEN_FILTER": "require"})
        expect(named.status != 0 and "of /typo cannot be divided" in named.stderr and
               named.ranks == [None] * 3, f"{named.stderr}")
    for good in (data.path, data.path + "/"):
        run([ZAZENCTL, "--config", node.config, "run", "true"],
            dict(nodes.env, ZAZEN_DATASETS=good)).succeeded()

    # Datasets with more text than a variable may have: the value is shorter, and the job knows it.
    many = node.config + "-many"
    with open(node.config) as file, open(many, "w") as copy:
        copy.write(file.read())
        for i in range(30):
            copy.write(f'\n[[dataset]]\npath = "/nowhere/{"x" * 100}{i}"\nframes = "f{{seq}}"\n')
    done = run([ZAZENCTL, "--config", many, "run", "printenv", "ZAZEN_DIVISION"], nodes.env).succeeded()
    expect(len(done.stdout) < 1024 and done.stdout.endswith(", ...\n") and
           done.stdout.startswith(f"on {data.path}, /nowhere/x"), f"{done}")

    # ZAZEN_DISABLE=1: other values do not matter, but what must be divided cannot run without Zazen.
    disabled = dict(nodes.env, ZAZEN_DISABLE="1")
    for words, env in ((["--divide"], {}), ([], {"ZAZEN_FILTER": "require"})):
        done = run([ZAZENCTL, "--config", node.config, "run", *words, "echo", "ran"],
                   dict(disabled, **env))
        expect(done.status == 125 and done.stdout == "" and "ZAZEN_DISABLE=1" in done.stderr, f"{done}")
    for env in ({"ZAZEN_LOG": "loud"}, {"ZAZEN_FILTER": "banana"}, {"ZAZEN_DATASETS": "/typo"}):
        done = run([ZAZENCTL, "--config", node.config, "run", "echo", "ran"], dict(disabled, **env))
        expect(done.succeeded().stdout == "ran\n" and done.stderr == "", f"{done}")

    # A job: one line, and it is divided as without the variable; mpirun under the shim or not.
    for env in ({"ZAZEN_FILTER": "OFF"}, {"ZAZEN_STRIDE": "x"}):
        (name, value), = env.items()
        nodes.mpirun("list_and_read_c", data, ranks=3, env=env).check_exactly_once(
            says=f"{name}={value}: ignored")
        out, report = nodes.output_of_a_job()
        nodes.start_job([MPIRUN, "-n", 3, *program("list_and_read_c"), data.path, out],
                        dict(shim, ZAZEN_REPORT=report, **env), data, out, [node.name] * 3,
                        report).finish().check_exactly_once(says=f"{name}={value}: ignored")

    job = nodes.mpirun("list_and_read_c", data, ranks=3, env={"ZAZEN_DISABLE": "maybe"}).succeeded()
    expect(complaints(job.stderr) == ["zazen: ZAZEN_DISABLE=maybe: taken for 1; it may be 0 or 1"] and
           all(set(output.listed) == data.names for output in job.ranks), f"{job.stderr}")

    # A shim that is switched off, or not configured, says nothing.
    for env in ({"ZAZEN_DISABLE": "1", "ZAZEN_CONFIG": node.config}, {}):
        done = run(["ls", data.path], dict(nodes.env, LD_PRELOAD=SHIM, ZAZEN_FILTER="banana", **env))
        expect(done.succeeded().stderr == "", f"{done}")
    # Good values say nothing.
    for name, value in (("ZAZEN_FILTER", "require"), ("ZAZEN_FILTER", ""), ("ZAZEN_DISABLE", "0"),
                        ("ZAZEN_LOG", "off"), ("ZAZEN_END", "5"), ("ZAZEN_PROTOCOL", "paper")):
        done = run(["ls", data.path], dict(shim, **{name: value})).succeeded()
        expect(done.stderr == "", f"{name}={value}: {done}")
    expect(os.environ.get("ZAZEN_FILTER") is None, "the test's own environment is clean")
