"""With bodhi_write and bodhi_write_file each frame is a native of exactly one node, whole.
Consecutive frames are on different nodes, and the nodes differ by one frame at most."""
from bodhi_library import Bodhi, BodhiError, check_placed, frame_bytes
from nodes import Nodes
from processes import expect

FRAMES = 102

with Nodes(4) as nodes:
    data = nodes.dataset(frames=FRAMES, template="frame-{seq:04}.xtc")
    by_file = nodes.dataset(frames=50, name="sim2")
    nodes.start()
    with Bodhi(nodes[0].config) as writer:
        expect(writer.nodes() == [] and writer.figures().queued == 0, "nothing before the first")
        for seq in range(FRAMES):
            writer.write(data.path + "/", seq, frame_bytes(data, seq))
        writer.flush()
        places = check_placed(nodes, data, range(FRAMES))
        for seq in range(FRAMES - 1):
            names = [data.template.format(seq=number) for number in (seq, seq + 1)]
            expect(places[names[0]] is not places[names[1]], f"{names} on one node")
        pushed = [count for _, count, _ in writer.nodes()]
        expect(sorted(pushed) == [25, 25, 26, 26], f"evenly: {pushed}")
        figures = writer.figures()
        expect((figures.queued, figures.pushed, figures.dropped) == (FRAMES, FRAMES, 0), figures)
        expect(figures.bytes == data.bytes_of(data.frames), f"bytes: {figures}")
        expect(figures.memory_bytes == 0 and figures.waiting == 0, f"left: {figures}")

        for seq in range(50):
            writer.write_file(by_file.path, seq)
        writer.flush()
        check_placed(nodes, by_file, range(50))
        pushed = [count for _, count, _ in writer.nodes()]
        expect(max(pushed) - min(pushed) == 0, f"evenly over both: {pushed}")

        # Without content there is nothing to push; the writer goes on.
        writer.write_file(by_file.path, 1000)
        writer.flush()
        expect(writer.figures().dropped == 1, f"{writer.figures()}")
        for simdir in ("/nowhere", data.path + "x", ""):
            try:
                writer.write(simdir, 1, b"x")
            except BodhiError as error:
                expect("no dataset" in str(error) and error.errno != 0, f"says: {error}")
            else:
                expect(False, f"{simdir} is no dataset")
