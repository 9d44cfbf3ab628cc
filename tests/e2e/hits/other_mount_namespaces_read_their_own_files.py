"""A program in another mount namespace may find another file by a frame's name. It reads its own
file, before and after the frame is cached. It causes no copy of the file that others see."""
import os

from nodes import Nodes, skip
from processes import expect, run, wait_until

# "$0" is mounted over "$1"; then the frame "$2" is read twice by one program.
ELSEWHERE = 'mount --bind "$0" "$1" && exec cat "$2" "$2"'


def elsewhere(nodes, source, target, frame):
    return nodes.serial(nodes[0], ["unshare", "-m", "sh", "-c", ELSEWHERE, source, target, frame])


with Nodes(1) as nodes:
    if run(["unshare", "-m", "true"], nodes.env).status != 0:
        skip("no mount namespace can be made here")
    node = nodes[0]
    sets = [nodes.dataset(frames=6, name=name, sizes=(5000,), keys=keys)
            for name, keys in (("background", ""), ("wait", 'fill = "wait"'))]
    other = nodes.path("other")
    os.mkdir(other)
    for number in range(6):
        with open(f"{other}/f{number}", "w") as file:
            file.write("o" * 5000)
    nodes.start()
    for data in sets:
        nodes.warm(node, data, ["f0"])  # the worker reads the news from now on
        failed = node.status()["fills_failed"]

        def check(source, target, name):
            shown = elsewhere(nodes, source, target, data.file(name)).succeeded().stdout
            expect(shown == "o" * 10_000, f"{data.path}: {name} shows another file")

        check(f"{other}/f1", data.file("f1"), "f1")
        check(other, data.path, "f2")
        wait_until(lambda: node.status()["fills_failed"] >= failed + 2, "the fills to be refused")
        nodes.warm(node, data, ["f3"])
        expect(node.copies(data) == {"f0", "f3"}, f"{data.path}: {node.copies(data)}")

        # The frames are cached for those who see them.
        nodes.warm(node, data, ["f1", "f2"])
        check(f"{other}/f1", data.file("f1"), "f1")
        check(other, data.path, "f2")
        plain = nodes.serial(node, ["cmp", data.file("f1"), f"{other}/f1"])
        expect(plain.status == 1, f"{data.path}: {plain}")
