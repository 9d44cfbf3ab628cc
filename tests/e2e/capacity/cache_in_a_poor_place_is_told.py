"""The log, status and doctor warn of a cache in a home directory or on FUSE, and of no other
place."""
import json
import os

from filesystem import call, make_image
from nodes import PROGRAMS, ZAZENCTL, Nodes
from processes import Process, expect, run, wait_until

DISK = f"{PROGRAMS}/seek_disk"
HOME = "it is in a home directory: backups and quotas count the copies"
FUSE = "it is on FUSE: each read passes through another process"

with Nodes(1) as nodes:
    node = nodes[0]
    nodes.dataset(frames=3)
    nodes.configure()

    def doctor(config=node.config, **env):
        done = run([ZAZENCTL, "--config", config, "doctor", "--json"], dict(nodes.env, **env))
        return [each for each in json.loads(done.stdout)["node"] if each["about"] == "disk"]

    # A home is known by what it is, however it is named.
    os.symlink(nodes.directory, nodes.path("tmp", "home"))
    for home, is_told in ((nodes.directory, True), (nodes.path("tmp", "home"), True),
                          (nodes.path("n0"), True), (nodes.path("origin"), False),
                          (node.cache + "x", False), ("/", False), ("", False)):
        is_told = is_told or nodes.directory.startswith("/home/")
        nodes.env["HOME"] = home
        before = doctor()
        expect([each["text"] for each in before] == ([f"{node.cache}: {HOME}"] if is_told else []),
               f"{home}: {before}")
        expect(all("/var/tmp" in each["hint"] for each in before), f"{before}")
        node.start()
        told = f"cache {node.cache}: {HOME}"
        expect((told in node.status()["warnings"]) == is_told, f"{node.status()}")
        expect((f"warning   {told}\n" in node.ctl("status").stdout) == is_told, "the screen")
        expect((f'{node.cache}: {HOME}' in str(doctor())) == is_told, f"{doctor()}")
        said = node.stop()
        expect((f'event=cache_place cache={node.cache} what="{HOME}"' in said) == is_told, said)
        run(["rm", "-rf", node.cache], nodes.env)

    if os.path.exists(DISK) and os.geteuid() == 0:
        mounted = nodes.path("disk")
        os.mkdir(mounted)
        make_image(nodes.path("image"), 1)
        disk = Process([DISK, nodes.path("image"), 0, 1000, "-f", mounted], nodes.env)
        nodes.running.append(disk)
        wait_until(lambda: os.path.exists(f"{mounted}/disk") or not disk.running(), "the mount")
        if disk.running():
            config = nodes.path("fuse.toml")
            with open(node.config) as old, open(config, "w") as new:
                new.write(old.read().replace(node.cache, f"{mounted}/not/there/yet"))
            found = doctor(config)
            call("umount", mounted)
            expect([each["text"] for each in found] == [f"{mounted}/not/there/yet: {FUSE}"], f"{found}")
        disk.finish()
        nodes.running.remove(disk)
