"""With one rank without the shim, whichever it is, the job ends, and every rank sees and reads
all."""
from nodes import Nodes
from processes import expect

with Nodes(3) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    for without in (0, 1, 2):
        shims = [node != without for node in range(3)]
        job = nodes.mpirun("list_and_read_c", data, ranks=[1, 2, 1], shims=shims, seconds=30)
        job.check_unfiltered(says=f"not every rank proved that it runs under Zazen: rank "
                                  f"{(0, 1, 3)[without]} did not")
        if without != 0:
            job.check_report(filtered=False)
            reason = job.report["reason"]
            expect("not every rank" in reason, f"found out only by waiting: {reason}")
