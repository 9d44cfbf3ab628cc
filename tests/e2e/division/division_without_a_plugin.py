"""Where no plug-in can divide a job the shim itself says so, and ends the job if division is
required. The plug-in is missing, damaged, of another version, or there is none for this MPI; or a
session came first."""
import os
import shutil

from nodes import BUILD, MPI, SHIM, Nodes
from processes import expect

PLUGIN = f"libzazen-{MPI}.so"

with Nodes(2) as nodes:
    data = nodes.dataset(frames=12)
    nodes.start()
    nodes.push(data)

    def install(name, plugin=None):
        """A shim elsewhere, with this file for the plug-in."""
        directory = nodes.path(name)
        os.mkdir(directory)
        shutil.copy(SHIM, directory)
        if plugin:
            shutil.copy(plugin, f"{directory}/{PLUGIN}")
        return {"LD_PRELOAD": f"{directory}/libzazen.so"}

    def job(shim, env=None, name="list_and_read_c", **options):
        return nodes.mpirun(name, data, shims=[shim, shim], env=env, seconds=40, **options)

    def check(shim, reason, **options):
        job(shim, **options).check_unfiltered(says=reason)
        job(shim, {"ZAZEN_FILTER": "require"}, **options).check_ended_at_once(reason)
        job(shim, {"ZAZEN_FILTER": "off"}, **options).check_unfiltered()

    garbage = nodes.path("garbage")
    with open(garbage, "w") as file:
        file.write("no library")
    bare = install("bare")
    check(bare, f"{PLUGIN} is not beside libzazen.so")
    check(install("damaged", garbage), f"{PLUGIN}: ")
    check(install("other", f"{BUILD}/tests/e2e/libother_plugin.so"),
          f"{PLUGIN} is of another version than libzazen.so")
    if MPI == "mpich":  # Open MPI 4 has no sessions
        for way in ("session", "session_first"):
            check(True, "the program calls MPI_Session_init before MPI_Init",
                  name="start_in_many_ways_c", after=[way])

    if MPI == "openmpi":  # only the launcher can say how many there are
        def start(env=None, ranks=2):
            return nodes.mpirun("foreign_program", data, env=env, ranks=ranks, seconds=40)
        reason = "there is no plug-in for this MPI library"
        said = start()
        said.succeeded().check_says("not divided", reason)
        expect(all(set(rank.listed) == data.names for rank in said.ranks), "all see all")
        start({"ZAZEN_FILTER": "require"}).check_ended_at_once(reason)
        start({"ZAZEN_FILTER": "off"}).succeeded().check_silent()
        start({"ZAZEN_FILTER": "require"}, ranks=[1, 0]).succeeded().check_silent()

    # One rank is as good as divided.
    nodes.mpirun("list_and_read_c", data, shims=[bare, bare], ranks=[1, 0],
                 env={"ZAZEN_FILTER": "require"}).check_unfiltered()
