"""A rank aborts, crashes, is killed or exits without MPI_Finalize. The job ends, nothing hangs, and
the report does not claim success."""
from nodes import Nodes
from processes import expect, wait_until

with Nodes(2) as nodes:
    data = nodes.dataset(frames=20)
    nodes.start()
    nodes.push(data)
    for how in ("abort", "crash", "kill", "exit"):
        job = nodes.start_mpirun("end_oddly_c", data, after=[how]).finish_with_ranks()
        job.check_bytes()
        read = [name for output in job.ranks for name in output.frames_read(data)]
        expect(sorted(read) == sorted(data.frames), f"{how}: not each frame once")
        if how != "exit":
            expect(job.status != 0, f"{how}: mpirun's status is 0")
        expect(not job.report["complete"] and not job.report["exactly_once"],
               f"{how}: the report of a broken job claims success: {job.report}")
    nodes.mpirun("list_and_read_c", data).check_exactly_once()
    for node in nodes:  # a restart clears what killed ranks could not
        node.stop()
        node.start()
        wait_until(lambda: not node.jobs_left(), "the views of dead jobs to go")
