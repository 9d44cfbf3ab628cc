"""MPI_Init, MPI_Init_thread, a library that calls it, MPI_Init never called, MPI_Session_init: the
ranks of the first three get their frames, the others see all; nothing hangs."""
from nodes import MPI, Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)

    def job(way, programs="start_in_many_ways_c"):
        return nodes.mpirun(programs, data, after=[way], seconds=40)

    for way in ("init", "init_thread", "library"):
        job(way).check_exactly_once()
    job("never").check_unfiltered()
    if MPI == "mpich":  # Open MPI 4 has no sessions
        job("session").check_unfiltered()
        both = job("session_first")
        both.check_unfiltered()
        expect(both.report is None, f"a rank with a session is none of ours: {both.report}")
        mixed = job("session_first", ["list_and_read_c", "start_in_many_ways_c"])
        mixed.check_unfiltered()
        mixed.check_report(filtered=False)
        expect("not every rank" in mixed.report["reason"], f"{mixed.report}")
