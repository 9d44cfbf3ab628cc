"""zazen.own_frames() without MPI has all frames: in a serial program, in multiprocessing's children however
they start, with threads, in IPython, and without a daemon. It leaves nothing behind."""
import concurrent.futures
import json
import multiprocessing
import os
import shutil

from nodes import PYTHON, Nodes
from processes import expect, run, wait_until

import zazen


def names(directory):
    return [os.path.basename(path) for path in zazen.own_frames(directory)]


def size(path):
    with open(path, "rb") as file:
        return len(file.read())


def main():
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=5000, sizes=(1,))
        nested = nodes.dataset(frames=3, name="nested", template="run1/{seq:04}/traj.dcd", ordinary=False)
        nodes.start()
        os.environ["ZAZEN_CONFIG"] = nodes[0].config
        every = [f"f{number}" for number in range(5000)]
        expect(zazen.own_frames(data.path) == [data.file(name) for name in every], "not all frames, or in disorder")
        expect(names(nested.path) == ["traj.dcd"] * 3, f"{zazen.own_frames(nested.path)}")
        expect(zazen.own_frames(nested.path, end=0) == [f"{nested.path}/run1/0000/traj.dcd"], "its name")

        # By another name: the paths are below the name that was given.
        link = nodes.path("link")
        os.symlink(data.path, link)
        os.chdir(nodes.path("origin"))
        for name in (link, "sim1", "sim1/"):
            expect(zazen.own_frames(name, end=1) == [os.path.join(name, "f0"), os.path.join(name, "f1")], name)
        os.chdir("/")

        threads = len(os.listdir("/proc/self/task"))
        descriptors = os.listdir("/proc/self/fd")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            expect(list(pool.map(names, [data.path] * 16)) == [every] * 16, "in threads")
        wait_until(lambda: threads == len(os.listdir("/proc/self/task")), "no thread is left")
        expect(len(descriptors) == len(os.listdir("/proc/self/fd")), "descriptors are left")
        with open("/proc/self/maps") as maps:
            expect(nodes[0].runtime not in maps.read(), "the daemon's table is left mapped")

        for way in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(way).Pool(2) as pool:
                expect(pool.map(names, [data.path] * 2) == [every] * 2, f"in children by {way}")
                expect(sum(pool.map(size, zazen.own_frames(data.path, stride=50))) == 100, f"read in children by {way}")

        script = f"import zazen; print(len(zazen.own_frames({data.path!r})))"
        if shutil.which("ipython3", path="/usr/bin"):
            done = run(["/usr/bin/ipython3", "--quick", "--no-banner", "-c", script],
                       dict(nodes.env, IPYTHONDIR=nodes.path("ipython"), ZAZEN_CONFIG=nodes[0].config,
                            PYTHONPATH=os.environ["PYTHONPATH"], ZAZENCTL=os.environ["ZAZENCTL"]))
            expect(done.status == 0 and done.stdout == "5000\n" and done.stderr == "", f"{done}")

        nodes[0].stop()
        expect(names(data.path) == every, "without a daemon")
        env = dict(nodes.env, PYTHONPATH=os.environ["PYTHONPATH"], HOME="/", XDG_CONFIG_HOME=nodes.path("none"),
                   ZAZENCTL=os.environ["ZAZENCTL"], ZAZEN_CONFIG=nodes.path("none"))
        refused = f"import json, zazen\ntry: zazen.own_frames({data.path!r})\n" \
                  "except zazen.Error as error: print(json.dumps(error.args))"
        reason, hint = json.loads(run([PYTHON, "-c", refused], env).succeeded().stdout)
        expect(reason and hint.startswith("zazenctl init"), f"{reason} {hint}")


if __name__ == "__main__":
    main()
