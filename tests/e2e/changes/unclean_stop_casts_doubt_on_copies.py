"""After a daemon was killed, opens are checked until every copy has been compared, also with
validate = "never". So an invalidation that it lost does no harm."""
import os

from nodes import Nodes
from processes import expect, wait_until

for sweep in ("1h", "off"):
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=100, sizes=(64,), ordinary=False, keys='validate = "never"')
        nodes.configure(f'sweep = "{sweep}"\n')
        node = nodes[0]
        node.start()
        names = sorted(data.frames)

        def write(text):
            """Behind everybody's back, as if the daemon had been told and had forgotten."""
            for name in names:
                with open(data.file(name) + ".new", "w") as file:
                    file.write(f"{text}{name}")
                os.utime(data.file(name) + ".new", (1e9, 1e9))
                os.rename(data.file(name) + ".new", data.file(name))

        def shown(some):
            return nodes.serial(node, ["cat", *map(data.file, some)]).succeeded().stdout

        def expected(text, some):
            return "".join(text + name for name in some)

        def checks():
            return node.status()["datasets"][0]["checks_each_open"]

        write("one")
        nodes.push(data)
        node.stop()
        write("two")
        node.start()
        expect(node.status()["stopped_cleanly"], "it was stopped cleanly")
        if sweep == "off":
            expect(shown(names) == expected("one", names), "copies are trusted: the rest is a test")

        # The origin is away when the daemon comes back: nothing can be compared yet.
        node.kill()
        away = data.path + "-away"
        os.rename(data.path, away)
        node.start()
        expect(not node.status()["stopped_cleanly"] and checks(), "opens are checked")
        os.rename(away, data.path)
        expect(shown(names[:3]) == expected("two", names[:3]), "old bytes after a kill")
        wait_until(lambda: len(node.copies(data) & set(names[3:])) == 0, "the stale to be dropped")
        expect(shown(names) == expected("two", names), "old bytes after all was compared")

        # And once all copies are right, they are trusted again.
        node.wait_for_copies(data, names)
        node.kill()
        node.start()
        wait_until(lambda: not checks(), "the doubt to pass")
        hits = node.status()["hits"]
        expect(shown(names) == expected("two", names), "after the second kill")
        expect(node.status()["hits"] == hits + len(names), "all from the cache")
