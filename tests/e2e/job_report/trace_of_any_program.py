"""run --trace of programs of all sorts: totals are right, and the programs' output is the same.
Tests the options, the file and the ranks. A run without --trace makes no trace."""
import json
import os

from nodes import MPIRUN, PYTHON, SHIM, SOURCES, ZAZENCTL, Nodes, program
from processes import expect, run
from trace_output import trace_in, traces_in

SIZE = 300
TRACE = os.path.realpath(os.path.join(os.path.dirname(SHIM), "libzazen-trace.so"))


def zazenctl(*words, **env):
    return run([ZAZENCTL, "--config", node.config, *words], dict(nodes.env, **env))


def totals(trace):
    return [trace.head[name] for name in ("opens", "hits", "misses")]


def check_no_daemon():
    done = zazenctl("run", "--quiet", "--trace", "--", "cat", data.file("f0")).succeeded()
    expect("no daemon answers" in done.stderr and "zazen trace" not in done.stderr, f"{done}")


def check_python():
    """Reads by dup'ed descriptors and in streams of its libraries count, too."""
    words = [PYTHON, f"{SOURCES}/traced/traced.py", data.path]
    plain = run(words, nodes.env).succeeded()
    done = zazenctl("run", "--quiet", "--trace", "--", *words).succeeded()
    expect(done.stdout == plain.stdout, f"{plain} {done}")
    traces = sorted(traces_in(done.stderr), key=lambda trace: trace.head["opens"])
    expect([totals(trace) for trace in traces] == [[2, 1, 1], [8, 4, 4]], f"{done}")
    worker, parent = (trace.head for trace in traces)
    expect((worker["bytes"], worker["mapped"]) == (f"{2 * SIZE} B", None), f"worker: {done}")
    expect((parent["bytes"], parent["mapped"]) == ("1.80 kB", f"{2 * SIZE} B"), f"parent: {done}")


def check_cxx():
    """Names as people write them; lines of the program, not of the library's headers."""
    with open(f"{SOURCES}/traced/traced_cxx.cc") as file:
        lines = {line.rpartition("// the ")[2].strip(): number
                 for number, line in enumerate(file, 1) if "  // the " in line}
    done = zazenctl("run", "--quiet", "--trace", *program("traced_cxx"), data.file("f0"), data.file("none"),
                    data.file("f1")).succeeded()
    expect(done.stdout == f"{SIZE}\nno such frame\n{2 * SIZE}\n", f"{done}")
    rows = trace_in(done.stderr).rows
    for what in ("open", "read"):
        name = f"analysis::Reader::read(char const*) (traced_cxx.cc:{lines[what]})"
        expect(name in rows and rows[name][f"{what}s"] >= 2, f"{name}: {done}")
    expect(all(name.startswith("analysis::Reader::read(char const*) (traced") for name in rows),
           f"{done}")


def check_coreutils():
    """They close their standard error before the end."""
    for words, reads in ((["sha256sum", data.file("f0")], 1), (["grep", "-ac", "", data.file("f0")], 2),
                         (["dd", "bs=100", "status=none", f"if={data.file('f0')}"], 4)):
        plain = zazenctl("run", "--quiet", "--", *words).succeeded()
        done = zazenctl("run", "--quiet", "--trace", "--", *words).succeeded()
        expect((plain.stderr, plain.stdout) == ("", done.stdout), f"{plain} {done}")
        trace = trace_in(done.stderr)
        expect([*totals(trace), trace.head["bytes"]] == [1, 1, 0, f"{SIZE} B"], f"{done}")
        expect(trace.head["reads"] >= reads and trace.head["program"] == words[0], f"{done}")
    done = zazenctl("run", "--quiet", "--trace", "--", "cat", data.file("notes of the run.txt")).succeeded()
    expect(done.stderr == "", f"no frame, no trace: {done}")


def check_lost_reader():
    """A standard error that nobody reads does not end the program."""
    script = f'exec 2> >(exec true); wait $!; exec cat "{data.file("f0")}"'
    done = run(["bash", "-c", f'{ZAZENCTL} --config "$0" run --quiet --trace -- bash -c "$1"',
                node.config, script], nodes.env).succeeded()
    expect(len(done.stdout.encode("utf-8", "replace")) > 0, f"{done}")


def check_no_stderr():
    """The descriptor with the number of the standard error is the program's own file."""
    out = nodes.path("own file")
    script = ("import os, sys; os.closerange(2, 3); out = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT);"
              "open(sys.argv[1]).close(); os.write(out, b'%d' % out)")
    zazenctl("run", "--quiet", "--trace", "--", PYTHON, "-c", script, data.file("f0"), out).succeeded()
    with open(out) as file:
        expect((content := file.read()) == "2", f"its file has {content}")


def plan_of(*words, preloaded):
    """The environment that a run would set. (A sanitizer refuses libraries in front of it.)"""
    done = zazenctl("run", "--dry-run", "--json", *words, "true", LD_PRELOAD=preloaded,
                    ASAN_OPTIONS="verify_asan_link_order=0").succeeded()
    return json.loads(done.stdout)["environment"]


def check_options():
    plan = plan_of("--trace", "--trace-file", "t-%p", preloaded="libm.so.6")
    shim = os.path.realpath(SHIM)
    expect(plan["LD_PRELOAD"] == f"{TRACE}:{shim}:libm.so.6", f"{plan}")
    expect(plan["ZAZEN_TRACE_FILE"] == os.path.join(os.getcwd(), "t-%p"), f"{plan}")
    inner = plan_of(preloaded="libzazen-trace.so:libm.so.6")
    expect(inner["LD_PRELOAD"].startswith(f"{TRACE}:{shim}:"), f"inside a trace: {inner}")
    done = zazenctl("run", "--trace-file", "t", "true")
    expect(done.status == 125 and "--trace" in done.stderr, f"a file for what? {done}")

    maps = zazenctl("run", "--", "cat", "/proc/self/maps").succeeded().stdout
    expect("libzazen.so" in maps and "libzazen-trace" not in maps and "libunwind" not in maps,
           f"a plain run: {maps}")
    maps = zazenctl("run", "--quiet", "--trace", "cat", "/proc/self/maps").succeeded().stdout
    expect("libzazen-trace.so" in maps and "libzazen-callsites.so" in maps, f"{maps}")
    maps = zazenctl("run", "--quiet", "--trace", "cat", "/proc/self/maps", ZAZEN_DISABLE="1").stdout
    expect("libzazen-trace.so" in maps and "libunwind" not in maps, f"disabled: {maps}")


def check_file():
    """One for each process; a relative name means where the program was started."""
    pattern = nodes.path("trace-%p")
    done = zazenctl("run", "--quiet", "--trace", "--trace-file", pattern, "--", "sh", "-c",
                    'cat "$0" && cat "$0"; exit 5', data.file("f2"))
    expect((done.status, done.stderr) == (5, ""), f"{done}")
    files = [name for name in os.listdir(nodes.directory) if name.startswith("trace-")]
    expect(len(files) == 2, f"{files}")
    for name in files:
        with open(nodes.path(name)) as file:
            trace = trace_in(file.read())
        expect(totals(trace) == [1, 1, 0] and name == f"trace-{trace.head['pid']}", f"{name}")


def check_relative_file():
    words = [PYTHON, "-c", f"import os; os.chdir('/'); open({data.file('f0')!r}, 'rb').read()"]
    plan = plan_of("--trace", preloaded="")
    run(words, dict(nodes.env, **plan, ZAZEN_TRACE_FILE="relative"), cwd=nodes.directory).succeeded()
    with open(nodes.path("relative")) as file:
        expect(totals(trace_in(file.read())) == [1, 1, 0], "the file")


def check_ranks():
    out = nodes.path("out")
    os.mkdir(out)
    for words in ([MPIRUN, "-n", "2", ZAZENCTL, "--config", node.config, "run", "--quiet", "--trace"],
                  [ZAZENCTL, "--config", node.config, "run", "--quiet", "--trace", MPIRUN, "-n", "2"]):
        done = run([*words, *program("list_and_read_cxx"), data.path, out], nodes.env).succeeded()
        for rank in ("0", "1"):
            prefix = f"rank {rank}: "
            lines = [line for line in done.stderr.splitlines() if line.startswith(prefix)]
            trace = trace_in("\n".join(line.removeprefix(prefix) for line in lines))
            expect(totals(trace) == [5, 5, 0] and "list_and_read.cc" in "".join(trace.rows),
                   f"rank {rank}: {done}")


with Nodes(1) as nodes:
    data = nodes.dataset(frames=10, sizes=(SIZE,))
    nodes.configure()
    node = nodes[0]
    check_no_daemon()
    nodes.start()
    nodes.warm(node, data, [f"f{number}" for number in range(0, 10, 2)])
    check_python()
    nodes.wait_for_aliens(data, 10)
    check_cxx()
    check_coreutils()
    check_lost_reader()
    check_no_stderr()
    check_options()
    check_file()
    check_relative_file()
    check_ranks()
