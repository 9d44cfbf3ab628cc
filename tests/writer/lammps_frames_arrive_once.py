"""Unchanged LAMMPS under mpirun writes a dump file for each frame to the origin. With `push = true`
every frame arrives once, as a native, equal to the origin's bytes. The nodes are reached by their
sockets and over TCP. This holds also when a rank is killed in the middle."""
import os
import shutil
import signal

from bodhi_library import check_placed, free_addresses, make_key
from nodes import MPIRUN, SHIM, Nodes, skip
from processes import Process, expect, session_members, wait_until

FRAMES = 200
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump d all atom 1 {directory}/f*.lammpstrj
thermo {thermo}
run {steps}
"""


def start_lammps(nodes, data, steps):
    script = nodes.path("melt.in")
    with open(script, "w") as file:
        file.write(MELT.format(directory=data.path, thermo=FRAMES, steps=steps))
    argv = [MPIRUN, "-n", "3", "env", f"LD_PRELOAD={SHIM}", f"ZAZEN_CONFIG={nodes[0].config}",
            "lmp", "-in", script, "-log", "none", "-nocite"]
    process = Process(argv, dict(nodes.env, OMP_NUM_THREADS="1"))
    nodes.running.append(process)
    return process


def finish(nodes, process):
    nodes.running.remove(process)
    return process.finish()


def frames_of(data):
    return [int(name[1:].partition(".")[0]) for name in os.listdir(data.path)]


def check_arrival(nodes, data):
    seqs = frames_of(data)
    wait_until(lambda: nodes.held(data, "native") == len(seqs), "the frames to arrive")
    wait_until(lambda: nodes[0].status()["writer"]["waiting"] == 0, "the writer to be done")
    check_placed(nodes, data, seqs)
    writer = nodes[0].status()["writer"]
    expect((writer["dropped"], writer["being_written"]) == (0, 0), f"{writer}")
    pushed = [node["pushed"] for node in writer["nodes"]]
    expect(max(pushed) - min(pushed) <= 2, f"evenly: {pushed}")


if shutil.which("lmp") is None:
    skip("there is no LAMMPS")
with Nodes(4) as nodes:
    data, killed = (nodes.dataset(frames=0, name=name, ordinary=False, keys="push = true",
                                  template="f{seq}.lammpstrj") for name in ("whole", "killed"))
    key, addresses = make_key(nodes), free_addresses(2)
    listening = dict(zip((nodes[2], nodes[3]), addresses))
    peers = [f"unix:{nodes[0].runtime}", f"unix:{nodes[1].runtime}", *addresses]
    for node in nodes:
        listen = f'listen = "{listening[node]}"\n' if node in listening else ""
        node.configure(nodes.datasets, f'{listen}key_file = "{key}"\n', peers)
        node.start()

    done = finish(nodes, start_lammps(nodes, data, FRAMES - 1)).succeeded()
    expect("zazen" not in done.stderr.lower(), f"LAMMPS was told: {done.stderr}")
    expect(len(frames_of(data)) == FRAMES, f"{len(frames_of(data))} frames")
    check_arrival(nodes, data)

    # A rank is killed: mpirun ends the others, and the frames that they wrote arrive.
    job = start_lammps(nodes, killed, 1_000_000)
    wait_until(lambda: len(frames_of(killed)) > FRAMES // 2, "LAMMPS to be in the middle")
    ranks = [pid for pid in session_members(job.pid)
             if os.readlink(f"/proc/{pid}/exe").endswith("/lmp")]
    expect(len(ranks) == 3, f"ranks: {ranks}")
    os.kill(ranks[1], signal.SIGKILL)
    expect(finish(nodes, job).status != 0, "the job has failed")
    check_arrival(nodes, killed)
