"""A program that divides the list of a divided job itself is warned in one line while it runs,
after a few opens. A program that reads its list in any order is not warned, nor is one that lists
nothing."""
from nodes import Nodes
from processes import expect, wait_until

SKIPS = "of its listing of"
OTHERS = "opens frames of other ranks of"

with Nodes(2) as nodes:
    # Names that sort as their numbers do, and names that do not.
    padded = nodes.dataset(frames=400, name="padded", template="f{seq:05}", sizes=(100,))
    plain = nodes.dataset(frames=400, name="plain", sizes=(100,), seed=2)
    nodes.start()
    for data in (padded, plain):
        nodes.push(data)

    def start(data, how):
        return nodes.start_mpirun("read_in_an_order.py", data, after=[how])

    def warnings(stderr):
        return [line for line in stderr.splitlines() if SKIPS in line or OTHERS in line]

    for data in (padded, plain):
        for how, words in (("every", f"rank 1 opens only one frame in 4 {SKIPS} {data.path}"),
                           ("scattered", f"rank 1 {OTHERS} {data.path}, and leaves out its own"),
                           ("handed_out", f"rank 1 {OTHERS} {data.path}, and leaves out its own")):
            job = start(data, how)
            job.wait_until_ready()  # a few opens of each rank, and it waits
            wait_until(lambda: job._process.stderr_so_far(), "the warning")
            said = warnings(job._process.stderr_so_far())
            expect(len(said) == 1 and words in said[0] and "--no-divide" in said[0], f"{said}")
            job.go()
            done = job.finish()
            expect(warnings(done.stderr) == said, f"said once: {done.stderr}")
            expect("were not read by any rank" in done.stderr, f"and at the end: {done.stderr}")

    for how in ("all", "shuffled", "reference", "by_name"):
        job = start(plain, how)
        job.wait_until_ready()
        job.go()
        done = job.finish()
        done.succeeded()
        done.check_silent()
