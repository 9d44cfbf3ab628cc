"""gfortran's open, std::fstream, numpy.memmap and h5py's r+ leave every copy and pin if they write
nothing."""
import json
import subprocess

from nodes import PROGRAMS, PYTHON, Nodes
from processes import expect, wait_until

FILE_HDF5 = "import h5py, sys\nwith h5py.File(sys.argv[1], 'w') as f: f['x'] = list(range(500))"
MEMMAP = "import numpy, sys\nfor f in sys.argv[1:]: print(int(numpy.memmap(f).sum()))"
HDF5 = """
import h5py, sys
for name in sys.argv[1:]:
    with h5py.File(name, "r+") as file: assert int(file["x"][:].sum()) == 124750
"""


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


def frames_of(node, data):
    frames = json.loads(node.ctl("ls", data.path, "--json").succeeded().stdout)["frames"]
    return {frame["name"]: (frame["kind"], frame["pinned"]) for frame in frames}


with Nodes(1) as nodes:
    data = nodes.dataset(frames=12, ordinary=False, sizes=(5000,))
    programs = {"gfortran": [f"{PROGRAMS}/open_for_both_fortran"],
                "std::fstream": [f"{PROGRAMS}/open_for_both_cxx"]}
    if has("numpy"):
        programs["numpy.memmap"] = [PYTHON, "-c", MEMMAP]
    datasets = {name: data for name in programs}
    if has("h5py"):
        tree = nodes.dataset(frames=4, ordinary=False, name="hdf5", template="f{seq}.h5")
        for name in tree.frames:
            subprocess.run([PYTHON, "-c", FILE_HDF5, tree.file(name)], check=True)
        programs["h5py r+"], datasets["h5py r+"] = [PYTHON, "-c", HDF5], tree
    nodes.start()
    node = nodes[0]
    for each in nodes.datasets:
        nodes.push(each)
        node.ctl("pin", each.path, "0-2").succeeded()
    for how, argv in programs.items():
        each = datasets[how]
        before = frames_of(node, each)
        kinds = {kind for kind, _ in before.values()}
        # A copy that was dropped would come back as an alien.
        expect(set(before) == each.frames and kinds == {"native"}, f"{before}")
        nodes.serial(node, argv + [each.file(name) for name in sorted(each.frames)]).succeeded()
        wait_until(lambda: node.copies(each) == each.frames, f"{how}: the copies")
        expect(frames_of(node, each) == before, f"{how}: kinds or pins have changed")
        hits = node.status()["hits"]
        nodes.serial(node, ["cat", *(each.file(name) for name in each.frames)]).succeeded()
        expect(node.status()["hits"] - hits == len(each.frames), f"{how}: not all are hits")
        expect(frames_of(node, each) == before, f"{how}: after reading")
        print(f"{how}: {len(before)} copies stayed")
