"""The files of `cmake --install` with a DESTDIR run after a move to another place. zazenctl starts a divided
MPI job and a trace, and pkg-config links a program. No file names the build."""
import os
import pathlib
import re

import nodes as harness
from nodes import BUILD, MPI, MPIRUN, PYTHON, Nodes, program
from processes import expect, run

SOURCE = pathlib.Path(__file__).resolve().parents[3]

with Nodes(2) as nodes:
    stage, tree = nodes.path("stage"), nodes.path("moved tree")
    run(["cmake", "--install", BUILD, "--prefix", "/usr"], dict(nodes.env, DESTDIR=stage)).succeeded()
    os.rename(f"{stage}/usr", tree)
    expect(os.listdir(stage) == [], f"outside of the prefix: {os.listdir(stage)}")
    shim = f"{tree}/lib/zazen/libzazen.so"
    harness.SHIM, harness.ZAZEND, harness.ZAZENCTL = shim, f"{tree}/sbin/zazend", f"{tree}/bin/zazenctl"

    # Complete, and without the paths of the build.
    for page in os.listdir(SOURCE / "docs/man"):
        expect(os.path.exists(f"{tree}/share/man/man{page[-1]}/{page}"), f"no {page}")
    for file in ("share/doc/zazen/LICENSE", "lib/systemd/system/zazend.service",
                 "lib/systemd/user/zazend.service", "include/zazen/zazen.h", "lib/zazen/libzazen-trace.so",
                 "lib/zazen/libzazen-callsites.so", "share/zazen/grafana/zazen.json",
                 "share/zazen/logrotate/zazend",
                 "share/bash-completion/completions/zazenctl", "share/zsh/vendor-completions/_zazenctl",
                 "share/fish/vendor_completions.d/zazenctl.fish"):
        expect(os.path.exists(f"{tree}/{file}"), f"no {file}")
    for file in (harness.ZAZEND, harness.ZAZENCTL, *pathlib.Path(f"{tree}/lib/zazen").glob("*.so")):
        dynamic = run(["readelf", "-d", str(file)], nodes.env).succeeded().stdout
        places = re.findall(r"runpath: \[(.*)\]", dynamic)
        expect(not any(str(SOURCE) in place for place in places), f"{file} looks in {places}")

    # The example is a configuration: there is merely no such daemon (3), or no right to look for it.
    example = f"{tree}/share/doc/zazen/examples/zazen.toml"
    asked = run([harness.ZAZENCTL, "--config", example, "status"], nodes.env)
    expect(asked.status == 3, f"{asked}")

    data = nodes.dataset(frames=12)
    nodes.start()
    nodes.push(data)
    out, report = nodes.output_of_a_job()
    argv, ranks = [MPIRUN], []
    for node in nodes:
        argv += [":"] if len(argv) > 1 else []
        argv += ["-n", "2", harness.ZAZENCTL, "--config", node.config, "run", "--quiet", "--divide", "--report", report,
                 "--", *program("list_and_read_c"), data.path, out]
        ranks += [node.name] * 2
    nodes.start_job(argv, nodes.env, data, out, ranks, report).finish().check_exactly_once()

    ctl = [harness.ZAZENCTL, "--config", nodes[0].config]
    traced = run([*ctl, "run", "--trace", "--", "cat", data.file("f1")], nodes.env).succeeded()
    expect("f1" in traced.stderr or "cat" in traced.stderr, f"{traced}")
    doctor = run([*ctl, "doctor", "/bin/cat"], nodes.env)
    expect("fail" not in doctor.stdout, f"{doctor}")

    # The Python package finds the libraries and zazenctl of its own tree.
    asks = f"import zazen; print(len(zazen.own_frames({data.path!r})), zazen.status()['node'], zazen.places.zazenctl())"
    env = {key: value for key, value in nodes.env.items() if key != "ZAZENCTL"}
    asked = run([PYTHON, "-c", asks], dict(env, PYTHONPATH=f"{tree}/lib/python3/dist-packages",
                                           ZAZEN_CONFIG=nodes[0].config)).succeeded()
    expect(asked.stdout == f"12 n0 {tree}/bin/zazenctl\n", f"{asked}")

    # A program that asks which frames to read.
    packages = [str(path.parent) for path in pathlib.Path(tree).rglob(f"zazen-{MPI}.pc")]
    env = dict(nodes.env, PKG_CONFIG_PATH=":".join(packages))
    flags = run(["pkg-config", "--cflags", "--libs", f"zazen-{MPI}"], env).succeeded().stdout
    # pkg-config escapes the blank of the directory's name, as a shell wants it.
    binary = nodes.path("own_frames")
    run(["sh", "-c", f"mpicc.{MPI} '{SOURCE}/examples/own_frames.c' -o '{binary}' {flags}"], env).succeeded()
    linked = re.findall(r"=> (.*libzazen.*) \(", run(["ldd", binary], nodes.env).succeeded().stdout)
    expect([os.path.realpath(path) for path in linked] == [f"{tree}/lib/zazen/libzazen-{MPI}.so"], f"{linked}")

    # Lmod reads both kinds of module files, Environment Modules the one in Tcl. Lmod's reader of Tcl
    # fails if the directory's name has a blank.
    moved = nodes.path("tree")
    os.rename(tree, moved)
    tree = moved
    (name,) = (path.name.removesuffix(".lua") for path in pathlib.Path(tree).rglob("modulefiles/zazen/*.lua"))
    places = f"{tree}/share/modulefiles"
    for kind in ("lua", "tcl"):
        if kind == "tcl":
            os.remove(f"{places}/zazen/{name}.lua")
        loaded = run(["bash", "-c", f"""source /usr/share/lmod/lmod/init/bash; module use '{places}'
            module load zazen/{name} && zazenctl --version && command -v zazend && pkg-config --cflags bodhi
            man --where zazenctl; python3 -c 'import zazen; print(zazen.__file__)'
            module unload zazen; command -v zazenctl"""],
                     dict(nodes.env, PATH="/usr/bin:/bin"))
        expect(loaded.stdout.startswith("zazenctl ") and f"{tree}/sbin/zazend\n" in loaded.stdout
               and f"{tree}/share/man/man1/zazenctl.1" in loaded.stdout
               and f"{tree}/lib/python3/dist-packages/zazen/__init__.py" in loaded.stdout, f"{kind}: {loaded}")
        expect(not loaded.stdout.endswith("bin/zazenctl\n"), f"{kind}: still there after unload: {loaded}")
