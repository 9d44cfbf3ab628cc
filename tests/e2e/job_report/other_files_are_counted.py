"""Calls for files beside the frames are counted by pattern, with their time. The calls are opens to read and to
write, and stats by name or of the open file. report, explain and the JSON of both show them."""
import json
import os

from nodes import PYTHON, Nodes
from processes import expect
from summary import zazenctl_run

FRAMES = 24
PROGRAM = """
import os, sys
path, how = sys.argv[1], sys.argv[2]
if how == "relative":
    os.chdir(path)
    path = "."
for name in sorted(os.listdir(path)):
    if not name.startswith("f"): continue
    open(f"{path}/{name}", "rb").read()
    if how != "frames":
        for _ in range(2): open(f"{path}/.{name}.lock", "w").close()
        open(f"{path}/top.pdb").close()
        os.stat(f"{path}/top.pdb")
        os.stat(path)
if how == "missing":
    for i in range(FRAMES):
        try: open(f"{path}/missing-{i}.npz")
        except FileNotFoundError: pass
""".replace("FRAMES", str(FRAMES))

with Nodes(1) as nodes:
    data = nodes.dataset(frames=FRAMES, ordinary=False)
    other = nodes.dataset(frames=3, name="other", ordinary=False)
    nodes.configure()
    node = nodes[0]
    node.start()
    with open(data.file("top.pdb"), "w") as file:
        file.write("ATOM\n")

    def go(how):
        return zazenctl_run(nodes, node, PYTHON, "-c", PROGRAM, data.path, how).succeeded()

    def others():
        found = json.loads(node.ctl("report", "last", "--json").succeeded().stdout)["other_files"]
        for each in found:
            expect(each["open_seconds"] >= 0 and each["stat_seconds"] >= 0, f"{each}")
        return {(each["dataset"], each["pattern"]): (each["reads"], each["writes"], each["stats"])
                for each in found}

    # Frames alone are none; the listing opens the directory.
    go("frames")
    found = others()
    expect(all(pattern == "." for _, pattern in found), f"{found}")

    go("others")
    found = others()
    lock, top, here = ((data.path, name) for name in (".f*.lock", "top.pdb", "."))
    # Python asks for the stat of each file that it has opened.
    expect(found[lock] == (0, 2 * FRAMES, 2 * FRAMES), f"{found}")
    expect(found[top] == (FRAMES, 0, 2 * FRAMES), f"{found}")
    expect(found[here][2] >= FRAMES and found[here][1] == 0, f"{found}")
    first = json.loads(node.ctl("report", "--json").succeeded().stdout)["jobs"][0]["other_files"]
    expect({each["pattern"] for each in first} >= {".f*.lock", "top.pdb"}, f"{first}")
    text = node.ctl("report", "last").succeeded().stdout
    line = next(each for each in text.splitlines() if each.endswith(f"{data.path}/.f*.lock"))
    expect(line.split()[:2] == ["0", str(2 * FRAMES)], text)

    # Names that are missing cost as much.
    go("missing")
    expect(others()[data.path, "missing-*.npz"] == (FRAMES, 0, 0), f"{others()}")

    # explain says the same of the directory, and nothing of another one.
    done = node.ctl("explain", data.path).succeeded()
    expect(f".f*.lock: 0 opens to read, {2 * FRAMES} to write" in done.stdout, f"{done}")
    found = json.loads(node.ctl("explain", "--json", data.path).succeeded().stdout)["paths"][0]
    expect({each["pattern"] for each in found["other_files"]} >= {".f*.lock", "top.pdb"}, f"{found}")
    found = json.loads(node.ctl("explain", "--json", other.path).succeeded().stdout)["paths"][0]
    expect(found["other_files"] == [], f"{found}")

    # Files elsewhere do not count, even with the same names.
    beside = os.path.join(nodes.directory, "elsewhere")
    os.mkdir(beside)
    for name in ("f0", "f1", "top.pdb"):
        with open(f"{beside}/{name}", "w") as file:
            file.write("x")
    zazenctl_run(nodes, node, PYTHON, "-c", PROGRAM, beside, "others").succeeded()
    expect(others() == {}, f"{others()}")
