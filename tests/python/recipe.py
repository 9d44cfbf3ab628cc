"""The examples for other people's libraries and programs print the same by one process without the cache and
under `zazenctl run`, by several ranks if they use MPI. Then they read every frame from the cache:
`recipe.py EXAMPLE`."""
import os
import pathlib
import shutil
import sys
import types

from nodes import MPIRUN, PYTHON, ZAZENCTL, Nodes, skip
from processes import expect, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/programs"))
from frames import KINDS, write_pdb  # noqa: E402

FRAMES = 12
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 3 0 3 0 3
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
thermo_style custom step pe press
"""


def write_library_frames(kind):
    def write(nodes, directory):
        for seq in range(FRAMES):
            KINDS[kind].write(directory / f"f{seq}.{kind}", seq)
        topology = nodes.path("topology.pdb")
        write_pdb(pathlib.Path(topology), 0)
        return f"f{{seq}}.{kind}", [topology, directory]
    return write


def write_dumps(nodes, directory):
    run(["lmp", "-log", "none", "-nocite", "-in", script(nodes, "melt", f"{MELT}fix 1 all nve\n"
         f"dump d all atom 5 {directory}/f*.lammpstrj\nrun {5 * (FRAMES - 1)}\n")], nodes.env).succeeded()
    return "f{seq}.lammpstrj", [script(nodes, "rerun", f"{MELT}thermo 1\n"), directory]


def script(nodes, name, text):
    path = nodes.path(name)
    with open(path, "w") as file:
        file.write(text)
    return path


def write_bytes(nodes, directory):
    for seq in range(FRAMES):
        (directory / f"f{seq}").write_bytes(bytes([seq]) * (1 + 1000 * seq))
    return "f{seq}", [directory]


def lines(text):
    return text.splitlines()


def tables(text):
    """Without the times that LAMMPS took."""
    return [line for line in text.splitlines() if line.split() and line.split()[0].isdigit() and "." in line]


# Ranks (0: no MPI), what writes the frames, what is compared, how many lines, and a program that it needs.
RECIPES = {"own_frames": (3, write_bytes, lines, 1, None),
           "mdanalysis_gyration": (3, write_library_frames("xtc"), lines, FRAMES, None),
           "mdtraj_rmsd": (3, write_library_frames("xtc"), lines, FRAMES, None),
           "joblib_sums": (0, write_bytes, lines, FRAMES, None),
           "lammps_rerun": (0, write_dumps, tables, FRAMES, "lmp"),
           "gromacs_gyration": (0, write_library_frames("xtc"), lines, FRAMES, "gmx")}

name = sys.argv[1]
ranks, write, compared, count, needed = RECIPES[name]
if needed and not shutil.which(needed):
    skip(f"needs {needed}")
with Nodes(1) as nodes:
    directory = pathlib.Path(nodes.path("origin"))
    directory.mkdir()
    template, arguments = write(nodes, directory)
    data = types.SimpleNamespace(path=str(directory), template=template, keys="")
    nodes.datasets.append(data)
    nodes.start()
    nodes.push(data)
    env = dict(nodes.env, PYTHONPATH=os.environ["PYTHONPATH"], ZAZEN_CONFIG=nodes[0].config, OMP_NUM_THREADS="1")
    example = [PYTHON, f"{SOURCE}/examples/{name}.py", *map(str, arguments)]
    plain = run(example, env).succeeded()
    expect(len(compared(plain.stdout)) == count, f"{plain}")
    expect(nodes[0].status()["hits"] == 0, "it was not without the cache")
    cached = run([*([MPIRUN, "-n", str(ranks)] if ranks else []), ZAZENCTL, "run", "--quiet", "--", *example],
                 env).succeeded()
    expect(compared(cached.stdout) == compared(plain.stdout), f"{plain}\n{cached}")
    status = nodes[0].status()
    expect(status["hits"] >= FRAMES and status["misses"] == 0, f"{status['hits']} hits, {status['misses']} misses")
