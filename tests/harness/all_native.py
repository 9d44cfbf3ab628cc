"""The main job: natives on four nodes, two ranks on each, an unmodified program."""
from nodes import Nodes
from processes import expect


def check_all_native(*programs):
    with Nodes(4) as nodes:
        data = nodes.dataset(frames=61)
        nodes.start()
        figures = nodes.push(data)
        expect((figures["frames"], figures["pushed"], figures["failed"]) == (61, 61, 0), figures)
        counts = sorted(len(node.copies(data)) for node in nodes)
        expect(counts == [15, 15, 15, 16], f"not dealt out evenly: {counts}")
        for name in programs:
            job = nodes.mpirun(name, data)
            job.check_exactly_once()
            job.check_report(hits=61, misses=0, nodes=4, ranks=8, frames_arrived_later=0,
                             bytes_local=data.bytes_of(data.frames), bytes_origin=0)
            reader = job.reader_node()
            for node in nodes:
                mine = {frame for frame in reader if reader[frame] == node.name}
                expect(mine == node.copies(data), f"{name}: {node.name} read another's frames")
            shares = [len(output.frames_read(data)) for output in job.ranks]
            expect(max(shares) - min(shares) <= 1, f"{name}: an uneven load: {shares}")
        expect(nodes.held(data, "alien") == 0, "a hit was filled again")
