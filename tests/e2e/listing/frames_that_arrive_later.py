"""Frames that arrive while a job runs are shown to no rank, and counted."""
from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    running = nodes.start_mpirun("read_in_two_halves_c", data)
    running.wait_until_ready()
    agreed = set(data.frames)
    data.add([24, 25, 1000])
    running.go()
    job = running.finish().succeeded()
    job.check_bytes()
    job.check_silent()
    for rank, output in enumerate(job.ranks):
        expect(sorted(output.listed) == sorted(output.again), f"rank {rank}'s listing changed")
    read = [name for output in job.ranks for name in output.frames_read(data)]
    expect(sorted(read) == sorted(agreed), "the agreed frames are read, each once")
    job.check_report(frames_listed=24, frames_read=24, frames_arrived_later=3,
                     frames_never_read=0, exactly_once=True)
