"""With a runtime directory on btrfs the daemon warns, and makes no index there. stat through the
shim is right without the index, too."""
import os
import shutil

from filesystem import call, make_image
from nodes import Nodes, skip
from processes import expect, run

FRAMES = 20

if os.geteuid() != 0 or not shutil.which("mkfs.btrfs"):
    skip("no root, or no btrfs-progs")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES, sizes=(2000,), ordinary=False)
    node = nodes[0]
    image = nodes.path("image")
    make_image(image, 128)
    os.makedirs(node.runtime)
    for words in (["mkfs.btrfs", "-q", image], ["mount", "-o", "loop", image, node.runtime]):
        status, said = call(*words)
        if status != 0:
            skip(f"{words}: {said}")
    os.chmod(node.runtime, 0o700)
    try:
        nodes.configure()
        node.start()
        expect("event=runtime_copies_on_write" in node.said(), "nobody was warned")
        nodes.push(data)
        words = ["stat", "-c", "%n %s %Y %Z %i %a %U", *map(data.file, sorted(data.frames))]
        plain = run(words, nodes.env).succeeded().stdout
        nodes.serial(node, ["cat", *map(data.file, sorted(data.frames))]).succeeded()
        expect(node.status()["hits"] == FRAMES, "copies are used")
        expect(nodes.serial(node, words).succeeded().stdout == plain, "the same stat")
        expect(not os.path.exists(os.path.join(node.runtime, "index")), "an index was made")
        node.stop()
    finally:
        node.abandon()
        call("umount", node.runtime)
