"""Lists a directory itself and through children of many kinds, before and after OUT/go."""
import json
import os
import subprocess
import sys
import time

from mpi4py import MPI

directory, out_directory = sys.argv[1:3]
rank = MPI.COMM_WORLD.rank
bare = {key: os.environ[key] for key in ("PATH", "LD_PRELOAD", "LC_ALL") if key in os.environ}
configured = dict(bare, ZAZEN_CONFIG=os.environ["ZAZEN_CONFIG"])
quoted = "'" + directory + "'"


def lines(argv, **options):
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **options)
    return sorted(os.path.basename(line) for line in done.stdout.splitlines())


def forked():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, "\n".join(os.listdir(directory)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        names = pipe.read().split("\n")
    os.wait()
    return sorted(names)


def listings():
    program = "import os, sys; print('\\n'.join(os.listdir(sys.argv[1])))"
    return {
        "own": sorted(os.listdir(directory)),
        "scandir": sorted(entry.name for entry in os.scandir(directory)),
        "fork": forked(),
        "ls": lines(["ls", directory]),
        "find": lines(["find", directory, "-mindepth", "1", "-maxdepth", "1"]),
        "sh": lines(["sh", "-c", f"ls {quoted}"]),
        "sh in sh": lines(["sh", "-c", f'sh -c "ls {quoted}"; true']),
        "glob of bash": lines(["bash", "-c", f"printf '%s\\n' {quoted}/*"]),
        "python": lines([sys.executable, "-c", program, directory]),
        "explicit environment": lines(["ls", directory], env=configured),
        "bare environment": lines(["ls", directory], env=bare),
        "posix_spawn": lines(["/bin/ls", directory], env=configured, close_fds=False),
        "in the directory": lines(["ls"], cwd=directory),
    }


before = listings()
open(f"{out_directory}/ready-{rank}", "w").close()
give_up = time.monotonic() + 50
while not os.path.exists(f"{out_directory}/go"):
    if time.monotonic() > give_up:
        MPI.COMM_WORLD.Abort(3)
    time.sleep(0.01)
after = listings()
with open(f"{out_directory}/children-{rank}", "w") as out:
    json.dump({"before": before, "after": after}, out)
