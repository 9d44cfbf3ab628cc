"""If one job reads several datasets, each frame of each is read by one rank, and the report counts
all of them. A dataset that the job does not read is not counted."""
from collections import Counter

from nodes import Nodes
from processes import expect

with Nodes(2) as nodes:
    sets = [nodes.dataset(frames=23, name="sim1"),
            nodes.dataset(frames=range(100, 131), name="sim2", template="x-{seq:06}.xtc", seed=2),
            nodes.dataset(frames=7, name="sim3", seed=3)]
    alone = nodes.dataset(frames=5, name="sim4", seed=4)
    nodes.start()
    for data in (sets[0], sets[2]):
        nodes.push(data)
    for turn in range(2):  # the second has kept what the first fetched
        job = nodes.mpirun("list_and_read_several.py", sets[0],
                           after=[data.path for data in sets[1:]]).succeeded()
        job.check_silent()
        read = Counter()
        for output in job.ranks:
            for path, size, adler in output.read:
                directory, name = path.rsplit("/", 1)
                data = next(data for data in sets if data.path == directory)
                expect(data.sums[name] == (size, adler), f"wrong bytes of {path}")
                read[path] += name in data.frames
        frames = {data.file(name) for data in sets for name in data.frames}
        expect({path for path, count in read.items() if count} == frames, "a frame was lost")
        expect(max(read.values()) == 1, f"read twice: {read.most_common(3)}")
        for key, value in dict(filtered=True, exactly_once=True, frames_listed=len(frames),
                               frames_read=len(frames), frames_never_read=0).items():
            expect(job.report[key] == value, f"{key}: {job.report}")
