"""A plug-in of another version than the shim, and a rank of another version than the others: the job is not
divided, each rank reads everything, and a line says why. With --divide the job ends. The jobs of either
version alone are divided."""
import os
import shutil

from nodes import MPI, Nodes
from processes import expect, run
from versions import BOTH_WAYS, THIS

assert MPI == "openmpi"
TOLD = "this job is not divided"


def together(nodes, shim, plugin):
    """A tree with parts of two versions, as zazenctl finds them."""
    top = nodes.path(f"{'this' if shim is THIS else 'other'}-shim")
    for folder, file in (("tools", shim.zazenctl), ("preload", shim.shim), ("coord", plugin.plugin)):
        os.makedirs(f"{top}/{folder}")
        shutil.copy(file, f"{top}/{folder}")
    return top


for one, another in BOTH_WAYS:
    with Nodes(2) as nodes, one.used():
        data = nodes.dataset(frames=12)
        nodes.start()
        nodes.push(data)

        def job(variables, env=None, ranks=2):
            return nodes.mpirun("list_and_read_c", data, shims=variables, env=env, seconds=40, ranks=ranks)

        job([True, True]).check_exactly_once()

        top = together(nodes, one, another)
        mixed = {"LD_PRELOAD": f"{top}/preload/libzazen.so"}
        reason = "libzazen-openmpi.so is of another version than libzazen.so"
        job([mixed, mixed]).check_unfiltered(says=reason)
        job([mixed, mixed], {"ZAZEN_FILTER": "require"}).check_ended_at_once(reason)
        doctor = run([f"{top}/tools/zazenctl", "--config", nodes[0].config, "doctor"], nodes.env)
        expect("another version than the shim's" in doctor.stdout, f"{doctor}")

        # The second node has been updated, its daemon included; then only its programs.
        for daemon in (another, one):
            nodes[1].stop()
            with daemon.used():
                nodes[1].start()
            ranks = [True, {"LD_PRELOAD": another.shim, "ZAZEN_CONFIG": nodes[1].config}]
            done = job(ranks)
            done.succeeded()
            done.check_bytes()
            for number, rank in enumerate(done.ranks):
                expect(set(rank.listed) == data.names, f"rank {number} lists {rank.listed}")
            told = done.said()
            # Each version has a line of its own: they do not know each other.
            expect(told and all(TOLD in line and "did not, or has another version" in line for line in told),
                   f"{done.stderr}")
            done = job(ranks, {"ZAZEN_FILTER": "require"})
            expect(done.status != 0 and not any(done.ranks), f"{done.stderr}")
