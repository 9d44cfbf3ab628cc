"""status(), explain() and report() have the keys of their types, each with a value of its type. explain() has
no others. Errors of zazenctl have its reason and its hint."""
import os
import typing

from nodes import MPIRUN, PYTHON, ZAZENCTL, Nodes, program
from processes import expect, run

import zazen


def check(value, kind, where):
    """The value has the declared type; returns nothing."""
    if typing.is_typeddict(kind):
        types = typing.get_type_hints(kind)
        expect(isinstance(value, dict), f"{where}: {value}")
        missing = kind.__required_keys__ - value.keys()
        expect(not missing, f"{where} has no {missing}")
        for key, one in value.items():
            expect(key in types or kind.__total__, f"{where}: {key} has no type")
            if key in types:
                check(one, types[key], f"{where}.{key}")
        return
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        expect(isinstance(value, list), f"{where}: {value}")
        for one in value:
            check(one, arguments[0], where)
    elif origin is dict:
        for key, one in value.items():
            expect(isinstance(key, arguments[0]) and isinstance(one, arguments[1]), f"{where}: {value}")
    elif origin is typing.Union:
        if value is not None:
            check(value, arguments[0], where)
    else:
        expect(isinstance(value, (int, float) if kind is float else kind), f"{where}: {value!r} is no {kind}")


def refusal(function, *arguments):
    try:
        function(*arguments)
    except zazen.Error as error:
        return error
    raise AssertionError(f"{function.__name__}{arguments} did not fail")


with Nodes(1) as nodes:
    data = nodes.dataset(frames=8)
    nodes.start()
    nodes.push(data)
    node = nodes[0]
    os.environ["ZAZEN_CONFIG"] = node.config
    check(zazen.status(), zazen.Status, "status")
    expect(refusal(zazen.report).reason and refusal(zazen.report, "7").hint, "no job, but no error")

    for name in ("f1", "f7", "f01", "topology.top", ""):
        check(zazen.explain(data.file(name)), zazen.Explanation, f"explain {name}")
    os.utime(data.file("f7"), ns=(1, 1))
    changed = zazen.explain(data.file("f7"))
    check(changed, zazen.Explanation, "explain of a changed frame")
    expect("mtime" in changed["copy"]["differs"] and changed["reads"] == "origin", f"{changed}")

    beside = f"import os; open({data.file('f1')!r}).close(); os.path.exists({data.file('.f1_offsets')!r})"
    node.ctl("run", "--quiet", "--", PYTHON, "-c", beside).succeeded()
    directory = zazen.explain(data.path)
    check(directory, zazen.Explanation, "explain of the directory")
    expect(directory["other_files"], f"{directory}")
    check(zazen.report(), zazen.JobReport, "report of a serial job")
    expect(zazen.report()["other_files"], "no other files in the report")

    out, _ = nodes.output_of_a_job()
    run([MPIRUN, "-n", "2", ZAZENCTL, "--config", node.config, "run", "--quiet", "--divide", "--",
         *program("list_and_read_c"), data.path, out], nodes.env).succeeded()
    report = zazen.report("last")
    check(report, zazen.JobReport, "report")
    expect(report["filtered"] and len(report["per_rank"]) == 2 and report["exactly_once"], f"{report}")

    node.stop()
    error = refusal(zazen.status)
    expect("zazenctl" not in error.reason and error.hint, f"{error.args}")
    os.environ["ZAZENCTL"] = nodes.path("none")
    error = refusal(zazen.status)
    expect("No such file" in error.reason and "ZAZENCTL" in error.hint, f"{error.args}")
