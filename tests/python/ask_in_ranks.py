"""A user's parallel program: each rank writes what zazen.own_frames() says, by a communicator.

usage: ask_in_ranks.py OUT HOW DIRECTORY [OPTIONS]

HOW is world, halves (of the world, each for itself), alone (no communicator), or child (a process
that each rank starts asks). The OPTIONS, in JSON, are those of own_frames(); or a list of them, by
rank."""
import json
import os
import subprocess
import sys

from mpi4py import MPI

import zazen

CHILD = "import json, sys, zazen; print(json.dumps(zazen.own_frames(sys.argv[1])))"


def ask(how, directory, options):
    world = MPI.COMM_WORLD
    if how == "child":
        return json.loads(subprocess.check_output([sys.executable, "-c", CHILD, directory]))
    comm = {"world": lambda: world, "halves": lambda: world.Split(world.rank % 2, world.rank),
            "alone": lambda: None}[how]()
    return zazen.own_frames(directory, comm, **options)


out, how, directory, *options = sys.argv[1:]
options = json.loads(options[0]) if options else {}
if isinstance(options, list):
    options = options[MPI.COMM_WORLD.rank]
try:
    answer = ask(how, directory, options)
    for path in answer:
        open(path, "rb").close()
except zazen.Error as error:
    answer = {"reason": error.reason, "hint": error.hint}
with open(os.path.join(out, f"rank-{MPI.COMM_WORLD.rank}"), "w") as file:
    json.dump(answer, file)
