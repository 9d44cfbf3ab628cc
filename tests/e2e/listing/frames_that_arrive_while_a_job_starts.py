"""A writer adds frames all the time while a job starts. The ranks agree on one snapshot, and each
frame of it is read once. No rank sees later frames, which are counted."""
import threading

from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    for turn in range(3):
        before = set(data.frames)
        enough = threading.Event()

        def write():
            seq = 1000 * (turn + 1)
            while not enough.is_set() or len(data.frames) == len(before):
                data.add([seq])
                seq += 1
                enough.wait(0.002)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            running = nodes.start_mpirun("read_in_two_halves_c", data)
            running.wait_until_ready()
        finally:
            enough.set()
            writer.join()
        running.go()
        job = running.finish().succeeded()
        job.check_bytes()
        job.check_silent()
        read = []
        for rank, output in enumerate(job.ranks):
            expect(sorted(output.listed) == sorted(output.again), f"rank {rank}'s listing changed")
            read += output.frames_read(data)
        expect(len(read) == len(set(read)), f"read twice: {sorted(read)}")
        expect(before <= set(read), f"lost: {sorted(before - set(read))}")
        job.check_report(filtered=True, exactly_once=True, frames_listed=len(read),
                         frames_read=len(read), frames_never_read=0,
                         frames_arrived_later=len(data.frames) - len(read))
        print(f"{len(read)} frames agreed, {len(data.frames) - len(read)} later")
