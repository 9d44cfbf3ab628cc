"""A program without a free descriptor does not lose its pushes: they wait until it has one
again."""
import os
import resource

from bodhi_library import Bodhi, BodhiError
from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=3)
    nodes.start()
    config = nodes.path("writer.toml")
    with open(config, "w") as file:
        file.write(f'cache = "{nodes.path("none")}"\nruntime = "{nodes.path("none", "run")}"\n'
                   f'peers = ["unix:{node.runtime}"]\n[[dataset]]\npath = "{data.path}"\nframes = "f{{seq}}"\n')
    with Bodhi(config) as writer:
        writer.write(data.path, 100, b"first")
        writer.flush()  # from now on it is connected
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        try:
            writer.write(data.path, 101, b"second")  # needs a memory file
            writer.write_file(data.path, 1)  # needs the origin's
            writer.flush(1_000)
        except BodhiError as error:
            expect("2 frames are still queued" in str(error), f"says: {error}")
        else:
            expect(False, f"nothing waits: {writer.figures()}")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        writer.flush()
        figures = writer.figures()
        expect((figures.pushed, figures.dropped) == (3, 0), f"{figures}")
    expect(node.held(data, "native") == 3, "all are there")
