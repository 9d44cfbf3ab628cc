"""ZAZEN_BEGIN, ZAZEN_END and ZAZEN_STRIDE restrict the frames that a job's ranks see and that its
audit counts. No rank sees frames outside of that, and every rank can open them. A wrong value is
reported and ignored."""
from nodes import Nodes
from processes import expect


def shown(job, data):
    """The frames that the ranks listed, each by one."""
    frames = [name for output in job.ranks for name in output.listed if name in data.frames]
    expect(len(frames) == len(set(frames)), f"shown to two ranks: {sorted(frames)}")
    return set(frames)


def select(nodes, data, begin=None, end=None, stride=None, program="list_and_read_c", after=()):
    words = dict(ZAZEN_BEGIN=begin, ZAZEN_END=end, ZAZEN_STRIDE=stride)
    env = {key: str(value) for key, value in words.items() if value is not None}
    return nodes.mpirun(program, data, env=env, after=after).succeeded()


with Nodes(2) as nodes:
    data = nodes.dataset(frames=range(5, 65))
    nodes.start()
    nodes.push(data)
    for begin, end, stride, expected in (
            (10, 40, 3, range(10, 41, 3)),
            (None, None, 7, range(5, 65, 7)),
            (None, 12, None, range(5, 13)),
            (60, None, None, range(60, 65)),
            (0, 1000, 10, range(10, 65, 10)),
            (100, 200, 1, ())):
        job = select(nodes, data, begin, end, stride)
        job.check_bytes()
        job.check_silent()
        names = {f"f{seq}" for seq in expected}
        expect(shown(job, data) == names, f"{begin}, {end}, {stride}: {sorted(shown(job, data))}")
        for rank, output in enumerate(job.ranks):
            others = {name for name in output.listed if name not in data.frames}
            expect(others == data.names - data.frames, f"rank {rank} sees {sorted(others)}")
        job.check_report(filtered=True, exactly_once=True, frames_listed=len(names),
                         frames_read=len(names), frames_never_read=0, frames_arrived_later=0)

    job = select(nodes, data, 10, 40, 3, program="read_all_by_name.py", after=sorted(data.frames))
    for output in job.ranks:
        expect(set(output.frames_read(data)) == data.frames, "a frame outside did not open")
    expect(job.report["frames_listed"] == job.report["frames_read"] == 11, f"{job.report}")

    for words, complaint in (
            (dict(begin="ten"), "ZAZEN_BEGIN=ten: ignored, all frames are selected; it may be a whole number"),
            (dict(begin=3, stride=0), "ZAZEN_STRIDE=0: ignored, all frames are selected; it may be a whole number "
             "from 1 on"),
            (dict(end=-1), "ZAZEN_END=-1: ignored, all frames are selected; it may be a whole number"),
            (dict(begin=9, end=8), "ZAZEN_END=8: ignored, all frames are selected; it may be ZAZEN_BEGIN or more")):
        job = select(nodes, data, **words)
        expect(shown(job, data) == data.frames, f"{words}: not all frames are shown")
        job.check_says(complaint)
