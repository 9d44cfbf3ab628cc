"""ls shows the frames that the node holds. evict drops the named ones, and nothing else."""
import json

from nodes import Nodes
from processes import expect

with Nodes(1) as nodes:
    data = nodes.dataset(frames=40)
    other = nodes.dataset(frames=4, name="sim2")
    nodes.start()
    node = nodes[0]
    nodes.push(other)
    nodes.warm(node, data, [f"f{seq}" for seq in range(30, 40)])
    nodes.wait_for_aliens(data, 10)

    def frames(*words):
        found = json.loads(node.ctl("ls", *words, "--json").succeeded().stdout)["frames"]
        return {frame["name"]: (frame["kind"], frame["bytes"]) for frame in found}

    def evict(*words):
        return json.loads(node.ctl("evict", *words, "--json").succeeded().stdout)

    held = {f"f{seq}": ("alien", data.sums[f"f{seq}"][0]) for seq in range(30, 40)}
    expect(frames(data.path) == held, f"{frames(data.path)}")
    expect(frames(data.path, "--pushed") == {}, "natives")
    expect(frames(data.file("f31")) == {"f31": held["f31"]}, "one frame")
    expect(set(frames(data.path, other.path)) == set(held) | other.frames, "two datasets")
    expect("f39" in node.ctl("ls", "-l", data.path).succeeded().stdout, "ls -l")
    expect(other.path in node.ctl("ls").succeeded().stdout, "the datasets")
    expect(node.ctl("ls", data.file("f0")).status == 1, "a frame that is not held")
    expect(node.ctl("ls", data.file("topology.top")).status == 2, "no frame")
    expect(node.ctl("ls", "/").status == 2, "no dataset")

    would = evict(data.path, "--dry-run", "--frames", "30-34")
    expect(would["frames"] == 5 and frames(data.path) == held, f"a dry run: {would}")
    expect(evict(data.path, "--pushed")["frames"] == 0, "no natives there")
    gone = evict(data.path, "--frames", "30-34")
    names = [f"f{seq}" for seq in range(30, 35)]
    expect((gone["frames"], gone["bytes"]) == (5, data.bytes_of(names)), f"{gone}")
    expect(set(frames(data.path)) == set(held) - set(names), "30 to 34 are gone")
    expect(node.copies(data) == set(held) - set(names), "their files, too")
    evict(data.file("f35"))
    expect("f35" not in frames(data.path) and "f36" in frames(data.path), "only f35")

    for words in ((), ("--all", data.path), (data.path, "--frames", "9-2"),
                  (data.path, "--frames", "x"), (data.file("f36"), "--frames", "1-2")):
        done = node.ctl("evict", *words)
        expect(done.status == 2 and "hint: " in done.stderr or "--frames goes" in done.stderr,
               f"wrong usage: {done}")
    expect(len(frames(data.path)) == 4 and len(frames(other.path)) == 4, "nothing else went")
    expect(evict("--all")["frames"] == 8, "all of both datasets")
    expect(node.status()["used_files"] == 0, "nothing is left")
