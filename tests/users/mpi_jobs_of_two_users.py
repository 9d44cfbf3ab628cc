"""In filtered MPI jobs of two users of one system daemon each frame is read once, from the copies.
The views are gone afterwards."""
import json
import os
import shutil

from nodes import BUILD, MPI, MPIRUN, program
from people import ALICE, BOB, SystemNode
from processes import expect, run

with SystemNode() as node:
    data = node.dataset(24, sizes=(5000,))
    node.start()
    shutil.copy(f"{BUILD}/coord/libzazen-{MPI}.so", node.directory)
    analyse = shutil.copy(program("list_and_read_c")[0], node.directory)
    for user in (ALICE, BOB, ALICE):
        home = node.nodes.path(f"home-{user}")
        shutil.rmtree(home, ignore_errors=True)
        os.mkdir(home)
        os.chown(home, user.uid, user.gid)
        env = dict(node.nodes.env, HOME=home, TMPDIR=home,
                   OMPI_MCA_btl_vader_backing_directory=home)
        run(user.command([MPIRUN, "-n", "3", "env", f"LD_PRELOAD={node.shim}",
                          f"ZAZEN_CONFIG={node.node.config}", f"ZAZEN_REPORT={home}/report",
                          analyse, data.path, home]), env, cwd=home).succeeded()
        with open(f"{home}/report") as file:
            report = json.load(file)
        expect(report["exactly_once"] and report["frames_read"] == 24, f"{user}: {report}")
        expect(report["nodes"] == 1, f"{user}: the ranks did not find the daemon: {report}")
        expect(not node.node.jobs_left(), f"views of {user} are left")
        node.wait_for_copies(data, data.frames)
    expect(report["hits"] == 24, f"the last job read the origin: {report}")
