"""With `also` the other files beside the frames are cached whole, as frames are. They are found by
any path, seen by every rank, dropped when they change, and evicted and refused with the frames. A
reload says that changed patterns need a restart."""
import json
import os
import signal

from nodes import PYTHON, Nodes
from processes import expect, wait_until

FRAMES = 24
ALSO = 'also = ["*.pdb", ".*_offsets.npz", "a long name of a file.gro"]'
COMPANIONS = ["top.pdb", ".f3.xtc_offsets.npz", "a long name of a file.gro"]
OTHERS = ["notes.txt", "longer_than_ten.pdb", "top.pdb.bak"]

READ = """
import os, sys, zlib
if sys.argv[1]: os.chdir(sys.argv[1])
for path in sys.argv[2:]:
    try:
        with open(path, "rb") as file: data = file.read()
        st = os.stat(path)
        print(len(data), zlib.adler32(data), st.st_size == len(data), st.st_ino)
    except OSError as error: print(error.errno)
"""


def write_others(data):
    for name in COMPANIONS + OTHERS:
        data.write(name, 5_000)


with Nodes(2) as nodes:
    data = nodes.dataset(frames=FRAMES, template="f{seq}.xtc", ordinary=False, keys=ALSO)
    checked = nodes.dataset(frames=2, name="checked", template="f{seq}.xtc", ordinary=False,
                            keys=ALSO + '\nvalidate = "always"')
    deep = nodes.dataset(frames=2, name="deep", template="run1/f{seq}", ordinary=False, keys=ALSO)
    write_others(data)
    checked.write("top.pdb", 3_000)
    deep.write("run1/top.pdb", 3_000)
    nodes.start()
    node = nodes[0]

    def read(paths, where="", of=data):
        """Through the shim it is as without it. How many opens were hits."""
        before = node.status()["hits"]
        argv = [PYTHON, "-c", READ, where, *paths]
        shown, plain = nodes.serial(node, argv).succeeded(), nodes.serial(node, argv, ZAZEN_DISABLE="1")
        expect(shown.stdout == plain.stdout, f"{shown}, not {plain}")
        return node.status()["hits"] - before

    files = [data.file(name) for name in COMPANIONS + OTHERS]
    expect(read(files) == 0, "nothing was cached")
    node.wait_for_copies(data, COMPANIONS)
    expect(read(files) == len(COMPANIONS), "the companions, and no others")
    expect(read(COMPANIONS + OTHERS, data.path) == len(COMPANIONS), "by relative names")
    link = nodes.path("link")
    os.symlink(data.path, link)
    expect(read([f"{link}/{name}" for name in COMPANIONS]) == len(COMPANIONS), "behind a link")
    expect(node.copies(data) == set(COMPANIONS), f"{node.copies(data)}")
    read([deep.file("run1/top.pdb")])
    wait_until(lambda: os.path.exists(node.cache + deep.file("run1/top.pdb")), "a companion below")
    expect(read([deep.file("run1/top.pdb")]) == 1, "it is beside the frames")

    # status, ls, explain and evict know them by their names.
    expect(node.status_of(data)["also"] == ["*.pdb", ".*_offsets.npz", "a long name of a file.gro"],
           f"{node.status_of(data)}")
    listed = json.loads(node.ctl("ls", data.path, "--json").succeeded().stdout)["frames"]
    expect({each["name"] for each in listed} == set(COMPANIONS), f"{listed}")
    expect(all(each["companion"] and each["seq"] is None for each in listed), f"{listed}")
    found = json.loads(node.ctl("explain", "--json", *files).succeeded().stdout)["paths"]
    expect([each.get("companion", False) for each in found] == [True] * 3 + [False] * 3, f"{found}")
    expect([each["reads"] for each in found] == ["cache"] * 3 + ["origin"] * 3, f"{found}")
    expect("up to 10 of" in found[4]["rule"], f"{found[4]}")
    node.ctl("evict", data.file("top.pdb")).succeeded()
    expect("top.pdb" not in node.copies(data), "evicted")
    nodes.warm(node, data, ["top.pdb"])

    # A range of numbers is one of frames.
    held = node.copies(data)
    for numbers in ("0-", "3-", "0-18446744073709551615"):
        node.ctl("evict", "--frames", numbers, data.path).succeeded()
        node.ctl("pin", data.path, numbers).succeeded()
        expect(node.status_of(data)["pinned"] == 0, f"{node.status_of(data)}")
        node.ctl("unpin", data.path, numbers).succeeded()
        verified = json.loads(node.ctl("verify", "--json", "--frames", numbers, data.path).succeeded().stdout)
        expect(verified["frames"] == 0, f"{verified}")
    expect(node.copies(data) == held and held, f"{node.copies(data)}, not {held}")

    # Changes through the shim are seen at once.
    top, fresh = data.file("top.pdb"), nodes.path("fresh")
    for change in (["cp", fresh, top], ["mv", fresh, top], ["truncate", "-s", "7", top], ["rm", top],
                   ["cp", fresh, top], ["mv", top, data.file("x.pdb")], ["mv", data.file("x.pdb"), top],
                   ["sh", "-c", f"echo more >> {top}"]):
        with open(fresh, "w") as file:
            file.write(" ".join(change))
        nodes.serial(node, change).succeeded()
        read([top, data.file("x.pdb")])
        if os.path.exists(top):
            wait_until(lambda: os.path.exists(node.cache + top), f"a copy after {change}")
            expect(read([top]) == 1, f"cached again after {change}")

    # Without the shim: at once with validate = "always".
    read([checked.file("top.pdb")])
    node.wait_for_copies(checked, ["top.pdb"])
    expect(read([checked.file("top.pdb")]) == 1, "a hit")
    checked.rewrite("top.pdb")
    expect(read([checked.file("top.pdb")]) == 0, "it has changed")

    # Every rank sees them, and the frames are divided.
    data.write("top.pdb", 5_000)
    node.ctl("evict", top).succeeded()
    nodes.mpirun("list_and_read_c", data).check_exactly_once()

    # warm brings them, the frames, too.
    other = nodes[1]
    other.ctl("evict", data.path).succeeded()
    other.ctl("warm", "--frames", "0-", data.path).succeeded()
    expect(other.copies(data) == set(data.frames), f"{other.copies(data)}")
    other.ctl("warm", data.path).succeeded()
    expect(other.copies(data) >= {*COMPANIONS, *data.frames}, f"{other.copies(data)}")

    # A directory that takes the place of the dataset's has companions of its own.
    nodes.serial(other, ["cat", *files]).succeeded()
    os.rename(data.path, data.path + "-old")
    os.mkdir(data.path)
    for name in COMPANIONS + sorted(data.frames):
        data.write(name, 100)
    argv = ["cat", *(data.file(name) for name in COMPANIONS)]
    wait_until(lambda: nodes.serial(other, argv).stdout == nodes.serial(other, argv, ZAZEN_DISABLE="1").stdout,
               "the new directory")

    # A reload says that other patterns need a restart; doctor does; nothing else changes.
    nodes.warm(node, data, COMPANIONS)
    node.ctl("pin", data.file("top.pdb")).succeeded()
    data.keys = 'also = ["*.gro", "top.pdb", "x*.pdb"]'
    node.configure(nodes.datasets)
    node.signal(signal.SIGHUP)
    wait_until(lambda: "event=reloaded" in node.said(), "the reload")
    expect(f"event=needs_restart subject={data.path} key=also" in node.said(), node.said())
    expect("the daemon does not know the changed also" in node.ctl("doctor").stdout, "doctor")
    expect(read(files[:3]) == 3, "as before")
    node.stop()
    node.start()
    wait_until(lambda: node.copies(data) & set(COMPANIONS) == {"top.pdb"}, "former copies to go")
    node.wait_for_copies(data, ["top.pdb"])
    expect(read([data.file("top.pdb")]) == 1, "it is known by another pattern now")
    expect("pinned, stays" in node.ctl("evict", data.file("top.pdb")).succeeded().stdout, "its pin moved with it")
    data.keys = ""
    node.stop()
    node.configure(nodes.datasets)
    node.start()
    wait_until(lambda: not node.copies(data) & set(COMPANIONS), "all companions to go")
    expect(read(files[:3]) == 0, "nobody asks for them")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=20, sizes=(20_000,), template="f{seq}.xtc", ordinary=False, keys=ALSO)
    data.write("top.pdb", 20_000)
    data.write("big.pdb", 400_000)
    nodes.configure('capacity = "200KB"')
    node = nodes[0]
    node.start()
    # A full cache: the companion comes and goes with the frames; one that is too large is not kept.
    for _ in range(40):  # one miss of sixteen is let in
        if node.status()["evictions"] > 0:
            break
        for name in sorted(data.frames):
            argv = ["cat", data.file(name), data.file("top.pdb"), data.file("big.pdb")]
            done = nodes.serial(node, argv)
            expect(done.status == 0, f"{done}")
            node.settle()
    status = node.status()
    expect(status["evictions"] > 0 and status["used_bytes"] <= 200_000, f"{status}")
    expect("big.pdb" not in node.copies(data), f"{node.copies(data)}")
