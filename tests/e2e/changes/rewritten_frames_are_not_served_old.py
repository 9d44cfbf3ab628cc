"""After a simulation was run again, before or between jobs, no stale byte is served."""
from nodes import Nodes
from processes import expect, run

with Nodes(2) as nodes:
    jobs = nodes.dataset(frames=40, name="jobs", sizes=(4096, 0, 100))
    serial = nodes.dataset(frames=40, name="serial", sizes=(4096, 0, 100))
    nodes.start()
    nodes.push(jobs)
    nodes.push(serial)
    for name in jobs.frames:
        jobs.rewrite(name)
        serial.rewrite(name)
    files = [serial.file(name) for name in serial.frames]
    plain = run(["sha256sum", *files], nodes.env)
    shown = nodes.serial(nodes[0], ["sha256sum", *files])
    expect(shown.stdout == plain.stdout, "a serial program got old bytes")

    nodes.mpirun("list_and_read_c", jobs).check_exactly_once()
    nodes.mpirun("list_and_read_c", jobs).check_exactly_once()
    for name in jobs.frames:
        jobs.rewrite(name)
    nodes.mpirun("list_and_read_c", jobs).check_exactly_once()
