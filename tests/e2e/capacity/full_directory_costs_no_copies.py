"""A cache directory that takes no more names (ext4 without large_dir) is not a full cache. The
frame is read from the origin, nothing is evicted, and one line says so. Fills of that dataset pause
until copies of it have gone."""
import os
import subprocess
import tempfile

from nodes import BUILD, Nodes, skip
from processes import expect, run, wait_until

if os.geteuid() != 0:
    skip("only root can mount a file system")

# Long names fill a directory of 1 KB blocks soon: three of them to a block.
PREFIX = "a_long_name_of_a_frame_" + "x" * 190 + "_"


def fill_directory(path):
    """Gives one file as many names as the directory takes; all of the same length as a frame's."""
    source = os.path.join(path, "source")
    open(source, "w").close()
    made, tried, refused = [], 0, 0
    while refused < 100:  # one after the other
        tried += 1
        name = f"{PREFIX}y{tried:07}"
        try:
            os.link(source, os.path.join(path, name))
            made.append(name)
            refused = 0
        except OSError:
            refused += 1
        if len(made) % 60_000 == 59_999:  # the most links of one file
            source = os.path.join(path, f"source{len(made)}")
            open(source, "w").close()
    return made


# In memory where that is possible: the daemon flushes often.
MEMORY = "/dev/shm"
with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else BUILD) as top:
    image, mounted = f"{top}/image", f"{top}/mounted"
    os.mkdir(mounted)
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    made = run(["mkfs.ext4", "-q", "-b", "1024", "-N", "2000",
                "-O", "dir_index,^large_dir,^has_journal", image], os.environ)
    if made.status != 0 or run(["mount", "-o", "loop", image, mounted], os.environ).status != 0:
        skip("no ext4 image can be mounted here")
    try:
        with Nodes(1) as nodes:
            node = nodes[0]
            data = nodes.dataset(frames=12, template=PREFIX + "{seq}", ordinary=False)
            other = nodes.dataset(frames=4, name="sim2")
            node.cache = f"{mounted}/cache"
            nodes.start()
            names = sorted(data.frames)
            nodes.warm(node, data, names[:1])
            taken = fill_directory(node.cache + data.path)
            expect(len(taken) > 10_000, f"only {len(taken)} names: not what this test is about")

            # Some names may still find room in their block of the directory; not all.
            for name in names[1:]:
                nodes.serial(node, ["cat", data.file(name)]).succeeded()
            wait_until(lambda: "directory_full" in node.said(), "the daemon to say so")
            lines = [line for line in node.said().splitlines() if "directory_full" in line]
            expect(len(lines) == 1, f"not one line: {lines}")
            expect(names[0] in node.copies(data), "a copy was evicted for it")
            expect(node.status()["evictions"] == 0, "something was evicted for it")
            expect("fill_failed" not in node.said(), "each frame is complained about")

            # Another dataset of the same disk is served as before.
            nodes.warm(node, other, sorted(other.frames))

            # The pause ends when copies of the dataset have gone.
            missing = [name for name in names if name not in node.copies(data)]
            for name in taken:
                os.unlink(os.path.join(node.cache + data.path, name))
            node.ctl("evict", data.file(names[0])).succeeded()
            nodes.warm(node, data, missing)
    finally:
        subprocess.run(["umount", mounted], check=True)
