"""With no node at all bodhi_write goes on. Frames wait in memory, then in the spool, which has no
name. Then pushes are dropped and counted. All kept frames arrive when the nodes do."""
import os

from bodhi_library import Bodhi, BodhiError, check_placed, frame_bytes
from nodes import Nodes
from processes import expect, wait_until

SIZE = 100_000
FRAMES = 120
MEMORY, SPOOL = 4_000_000, 3_000_000

with Nodes(3) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(SIZE,))
    spool = nodes.path("spool")
    os.mkdir(spool)
    nodes.configure(f'writer_memory = {MEMORY}\nspool = "{spool}"\nspool_limit = {SPOOL}\n')
    with Bodhi(nodes[0].config) as writer:
        kept = []

        def write(seq):
            dropped = writer.figures().dropped
            writer.write(data.path, seq, frame_bytes(data, seq))
            figures = writer.figures()
            expect(figures.memory_bytes <= MEMORY, f"memory is bounded: {figures}")
            expect(figures.spool_bytes <= SPOOL, f"the spool is bounded: {figures}")
            if figures.dropped == dropped:
                kept.append(seq)

        for seq in range(20):
            write(seq)
        wait_until(lambda: writer.figures().memory_bytes <= MEMORY * 3 // 4 // 2,
                   "the spool to relieve memory")
        expect(writer.figures().dropped == 0 and writer.figures().spool_bytes > 0,
               f"{writer.figures()}")
        expect(os.listdir(spool) == [], "the spool has no name")
        for seq in range(20, FRAMES):
            write(seq)
            if len(kept) < 45:  # the disk gets its time
                wait_until(lambda: writer.figures().spool_bytes > SPOOL - SIZE or
                           writer.figures().memory_bytes <= MEMORY * 3 // 4 // 2, "the spool")
        figures = writer.figures()
        expect(figures.waiting == len(kept) and figures.dropped == FRAMES - len(kept), figures)
        # Three quarters of the memory and all of the spool.
        expect(len(kept) == 29 + 30, f"{len(kept)} kept: {figures}")

        try:
            writer.flush(-1)
        except BodhiError as error:
            expect("59 frames are still queued: no node answers" in str(error), f"says: {error}")
        else:
            expect(False, "nobody can have them")

        for node in nodes:
            node.start()
        writer.flush()
        check_placed(nodes, data, kept)
        figures = writer.figures()
        expect((figures.pushed, figures.spooled) == (len(kept), 30), f"{figures}")
        expect((figures.memory_bytes, figures.spool_bytes) == (0, 0), f"left: {figures}")
