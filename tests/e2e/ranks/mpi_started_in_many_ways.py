"""The ranks get their frames with MPI_Init, MPI_Init_thread, or a library that calls it, linked or
loaded with RTLD_LOCAL. If MPI_Init is never called, or with MPI_Session_init, they see all. Nothing
hangs."""
from nodes import MPI, PROGRAMS, Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)

    def job(way, programs="start_in_many_ways_c"):
        return nodes.mpirun(programs, data, after=[way], seconds=40)

    for way in ("init", "init_thread", "library"):
        job(way).check_exactly_once()
    job(f"{PROGRAMS}/libstart_mpi.so", "list_and_read_ctypes.py").check_exactly_once()
    job("never").check_unfiltered()
    if MPI == "mpich":  # Open MPI 4 has no sessions
        session = "the program calls MPI_Session_init before MPI_Init"
        job("session").check_unfiltered(says=session)
        both = job("session_first")
        both.check_unfiltered(says=session)
        expect(both.report is None, f"a rank with a session is none of ours: {both.report}")
        mixed = job("session_first", ["list_and_read_c", "start_in_many_ways_c"])
        mixed.check_unfiltered(says="rank 2 did not")
        mixed.check_report(filtered=False)
        expect("not every rank" in mixed.report["reason"], f"{mixed.report}")
