"""With MPI_Comm_spawn the children's world is a job of its own. Its ranks share all frames among
them; the parents keep theirs, and their report. Children without the shim see all frames. Children
that leave frames unread are told so, and do not end their parents."""
import os

from job import Job
from nodes import Nodes, program, skip
from processes import expect


class Children:
    """The children of one job: their command line, and what they did."""

    def __init__(self, name, which="list_and_read_c", **variables):
        self.out = nodes.path(name)
        os.mkdir(self.out)
        words = [f"{key}={value}" for key, value in variables.items()]
        self.command = ["env", *words, *program(which), data.path, self.out]

    def job(self, parents, node_names):
        reports = [name for name in os.listdir(self.out) if name.startswith("report")]
        expect(len(reports) <= 1, f"{reports}")
        report = os.path.join(self.out, *reports)
        return Job(parents, data, self.out, node_names, report if reports else "")


with Nodes(2) as nodes:
    data = nodes.dataset(frames=24)
    nodes.start()
    nodes.push(data)
    nodes.env["OMPI_MCA_btl"] = "self,vader,tcp"  # vader does not reach the children

    def spawn(children, **options):
        return nodes.mpirun("spawn_readers_c", data, after=["3", *children.command], **options)

    plain = spawn(Children("plain"), shims=[False, False])
    if plain.status != 0:  # as with Debian's MPICH 4.0.2 (ch4:ucx)
        expect(spawn(Children("failing")).status != 0, "an error is not swallowed")
        skip(f"this MPI cannot spawn: {plain.stderr}")

    report = nodes.path("with", "report.json")
    children = Children("with", **nodes.shim(nodes[1], ZAZEN_REPORT=report))
    job = spawn(children)
    job.check_exactly_once()
    children.job(job, ["n1"] * 3).check_exactly_once()
    expect(not os.path.exists(report), "the name without a suffix is the parents'")

    children = Children("without")
    job = spawn(children)
    job.check_exactly_once()
    children.job(job, [None] * 3).check_unfiltered()

    job = spawn(Children("dividing", "divide_the_list_c", **nodes.shim(nodes[1]))).succeeded()
    expect("were not read by any rank." in job.stderr, job.stderr)
