"""init: examines a directory, writes a configuration that zazend accepts as it is, adds a second
dataset, and changes nothing that it does not understand. It runs as an ordinary user."""
import json
import os
import shutil
import stat

import ordinary_user
from nodes import ZAZENCTL, ZAZEND, Nodes
from processes import Process, expect, run, wait_until

ordinary_user.run_as_one()

with Nodes(1) as nodes:
    home, runtime = nodes.path("home"), nodes.path("xdg")
    for directory in (home, runtime):
        os.mkdir(directory, 0o700)
    env = dict(nodes.env, HOME=home, USER="somebody-who-has-no-scratch", XDG_RUNTIME_DIR=runtime)
    file = f"{home}/.config/zazen/zazen.toml"
    default_base = f"/var/tmp/zazen-{os.geteuid()}"
    # Not the cache of whoever runs the tests.
    is_free = os.geteuid() == ordinary_user.UID and not os.path.lexists(default_base)
    place = () if is_free else ("--cache", nodes.path("cache"))

    def init(*words, env=env, cwd=None):
        return run([ZAZENCTL, "init", *words], env, cwd=cwd)

    def read(path=file):
        with open(path) as text:
            return text.read()

    data = nodes.dataset(frames=500, template="frame-{seq:06}.xtc", sizes=(10, 2000), ordinary=False)
    for name in ("conf.pdb", "topol.tpr", "a_long_name.pdb", "notes.txt", ".frame-000001.xtc_offsets.npz"):
        data.write(name, 10)
    second = nodes.dataset(frames=20, name="sim \"2\"", template="run1/{seq:04}/traj.dcd", ordinary=False)
    daemon = None
    try:
        # A dry run prints the configuration and makes nothing.
        done = init("--dry-run", *place, data.path).succeeded()
        expect('frames = "frame-{seq:06}.xtc"' in done.stdout and "500 of 504 files" in done.stdout, f"{done}")
        expect(done.stdout.startswith(f"# {file}\n"), f"{done}")
        expect(not os.path.exists(f"{home}/.config") and not (is_free and os.path.lexists(default_base)),
               "a dry run wrote something")

        # The real one, by a relative path; zazend and programs take what it wrote.
        done = init(*place, os.path.basename(data.path) + "/.", cwd=os.path.dirname(data.path)).succeeded()
        lines = done.stdout.splitlines()
        expect(lines[0] == f"{data.path}: 500 of 504 files are named frame-{{seq:06}}.xtc", f"{done}")
        expect(lines[-2:] == ["  zazenctl start", f"  zazenctl run -- PROGRAM {data.path}"], f"{done}")
        expect(stat.S_IMODE(os.stat(file).st_mode) == 0o600, "its mode")
        expect('also   = [".*_offsets.npz", "a_long_name.pdb", "*.pdb", "*.tpr"]  #' in read(), read())
        expect("# Not cached: notes.txt\n" in read(), read())
        expect("other files that are cached: .*_offsets.npz, a_long_name.pdb, *.pdb, *.tpr" in lines, f"{done}")
        if is_free:
            expect(stat.S_IMODE(os.stat(default_base).st_mode) == 0o700, "only its owner's")
            expect(f'cache   = "{default_base}/cache"' in read(), read())
            expect(f'runtime = "{runtime}/zazen"' in read(), read())

        daemon = Process([ZAZEND], env)

        def status():
            return run([ZAZENCTL, "status", "--json"], env)
        wait_until(lambda: status().status == 0 or not daemon.running(), "the daemon")
        expect(daemon.running(), "zazend did not take it")
        files = [data.file(name) for name in sorted(data.frames)]
        plain = run(["sha256sum", *files], env).succeeded().stdout
        for _ in range(2):
            done = run([ZAZENCTL, "run", "--", "sha256sum", *files], env).succeeded()
            expect(done.stdout == plain, "the same output")
            wait_until(lambda: json.loads(status().stdout)["used_files"] == 500, "the copies")
        figures = json.loads(status().stdout)
        expect((figures["hits"], figures["misses"]) == (500, 500), f"{figures}")
        expect(not [w for w in figures["warnings"] if w.startswith("dataset")], f"{figures}")

        # Again: it is there already. A second one is added, and every line stays.
        before = read()
        done = init(data.path).succeeded()
        expect(f"it is in {file}" in done.stdout and read() == before, f"{done}")
        os.chmod(file, 0o640)
        done = init("--json", second.path).succeeded()
        said = json.loads(done.stdout)
        expect(said["also"] == [] and '# also = [' in said["text"], f"{done}")
        expect(said["added"] and said["frames"] == "run1/{seq:04}/traj.dcd" and said["matches"] == 20, f"{done}")
        expect(read().startswith(before) and read() == said["text"], read())
        expect(stat.S_IMODE(os.stat(file).st_mode) == 0o640, "its mode stays")
        expect(said["next"][0] == "zazenctl reload", f"{done}")
        run([ZAZENCTL, *said["next"][0].split()[1:]], env).succeeded()
        wait_until(lambda: len(json.loads(status().stdout)["datasets"]) == 2, "the second dataset")
        frame = second.file("run1/0007/traj.dcd")
        for _ in range(2):
            run([ZAZENCTL, "run", "--", "cat", frame], env).succeeded()
            wait_until(lambda: json.loads(status().stdout)["used_files"] == 501, "its copy")
        expect(json.loads(status().stdout)["hits"] == 501, "it is read from the cache")

        # Refusals change nothing.
        before = read()
        inside = f"{data.path}/restart"
        os.mkdir(inside)
        open(f"{inside}/f1", "w").close()
        nothing = nodes.path("nothing")
        os.mkdir(nothing)
        only_notes = nodes.path("notes")
        os.mkdir(only_notes)
        open(f"{only_notes}/readme", "w").close()
        for words, exit_status, phrase in (
                ((inside,), 1, f"dataset '{inside}' is inside dataset '{data.path}'"),
                ((os.path.dirname(data.path),), 1, "is inside dataset"),
                ((nothing,), 1, "no files there"), ((only_notes,), 1, "no file name has a number"),
                (("/nowhere",), 1, "No such file"), ((files[0],), 1, "Not a directory"),
                ((second.path, "--frames", "x"), 2, "not a frame name"), ((), 2, "DIR")):
            done = init(*words)
            expect((done.status, done.stdout) == (exit_status, ""), f"{words}: {done}")
            expect(done.stderr.startswith("zazenctl: error: ") and phrase in done.stderr, f"{words}: {done}")
            expect("\nhint: " in done.stderr and read() == before, f"{words}: {done}")
        done = init(nothing, "--frames", "f{seq}").succeeded()  # they are still to come
        expect("0 of 0 names" in done.stderr and f'path   = "{nothing}"' in read(), f"{done}")

        wrong = nodes.path("wrong.toml")
        for content in ("cahce = 1\n", "", "[[dataset]]\n", "not toml"):
            with open(wrong, "w") as out:
                out.write(content)
            done = init("--config", wrong, data.path)
            expect(done.status == 1 and wrong in done.stderr and read(wrong) == content, f"{done}")

        # Without HOME a file has to be named; then the commands name it, too.
        homeless = {key: value for key, value in env.items() if key != "HOME"}
        done = init(data.path, env=homeless)
        expect(done.status == 2 and "HOME" in done.stderr and "--config" in done.stderr, f"{done}")
        named = nodes.path("a directory", "it's mine.toml")
        done = init("--config", named, "--cache", nodes.path("other"), data.path, env=homeless).succeeded()
        command = done.stdout.splitlines()[-2].replace("  zazenctl", "printf '%s\\n'")
        words = run(["bash", "-c", command], env).stdout.splitlines()
        expect(words == ["--config", named, "start"], f"{done}")
        expect(f'runtime = "{nodes.path("other")}.run"' in read(named), read(named))
        done = init("--cache", nodes.path("third"), data.path,
                    env=dict(homeless, ZAZEN_CONFIG=nodes.path("variable.toml"))).succeeded()
        expect("  zazenctl start\n" in done.stdout and os.path.exists(nodes.path("variable.toml")), f"{done}")

        # A cache in the dataset, or in a home, is refused or told.
        done = init("--config", nodes.path("x.toml"), "--cache", f"{data.path}/cache", data.path)
        expect(done.status == 1 and "is inside dataset" in done.stderr, f"{done}")
        expect(not os.path.exists(nodes.path("x.toml")), "nothing is written")
        done = init("--config", nodes.path("x.toml"), "--cache", f"{home}/cache", data.path).succeeded()
        expect("in a home directory" in done.stderr, f"{done}")

        # A directory that another user has made is not taken; nor is one that others can write to.
        if is_free:
            daemon.signal(15)
            daemon.finish().succeeded()
            daemon = None
            os.chmod(default_base, 0o777)
            done = init("--dry-run", "--config", nodes.path("y.toml"), data.path).succeeded()
            expect(f'cache   = "{default_base}-' in done.stdout, f"{done}")
    finally:
        if daemon is not None:
            daemon.signal(15)
            daemon.finish().succeeded()
        if is_free:
            shutil.rmtree(default_base, ignore_errors=True)
