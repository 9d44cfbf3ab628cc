"""Many threads write, flush, ask and read with one handle while a node is killed and comes back.
Each frame arrives. Uses a sanitizer where the preset has one."""
import os

from nodes import BUILD, Nodes
from processes import Process, expect, wait_until

FRAMES = 2000

with Nodes(3) as nodes:
    data = nodes.dataset(frames=0)
    for seq in range(FRAMES):
        with open(data.file(f"f{seq}"), "wb") as file:
            file.write(bytes([seq % 251]) * (seq % 5000 + 1))
    spool = nodes.path("spool")
    os.mkdir(spool)
    nodes.configure(f'writer_memory = "40MB"\nwriter_timeout = "10s"\nspool = "{spool}"\n')
    for node in nodes:
        node.start()
    process = Process([f"{BUILD}/tests/writer/many_threads", nodes[0].config, data.path, "6", FRAMES],
                      nodes.env)
    nodes.running.append(process)
    wait_until(lambda: nodes[1].held(data) > 20 or not process.running(), "the first frames")
    nodes[1].kill()
    nodes[1].start()
    done = process.finish(110)
    expect(done.status == 0 and f"wrong 0 pushed {FRAMES} dropped 0" in done.stdout, f"{done}")
    expect(not done.stderr, f"silent: {done}")
    held = set().union(*(node.copies(data) for node in nodes))
    expect(held == {f"f{seq}" for seq in range(FRAMES)}, f"{FRAMES - len(held)} are missing")
