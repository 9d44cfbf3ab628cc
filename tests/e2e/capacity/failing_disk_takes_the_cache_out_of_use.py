"""A cache disk that fails (EIO, EROFS) takes the cache out of use, and the jobs go on. The cache
comes back by itself, and no frame that was changed meanwhile is served stale."""
import shutil

from filesystem import FileSystem, call
from nodes import Nodes, is_sanitized, skip
from processes import expect, run, wait_until

EIO = 5
FIU = "/usr/lib/fiu/fiu_run_preload.so:/usr/lib/fiu/fiu_posix_preload.so"


def read(nodes, data, names):
    words = ["sha256sum", *(data.file(name) for name in names)]
    done, plain = nodes.serial(nodes[0], words), run(words, nodes.env)
    expect((done.status, done.stdout, done.stderr) == (0, plain.stdout, ""), f"{done}")


def healthy(node):
    return node.status()["healthy"]


def failing_flush():
    if not shutil.which("fiu-ctrl"):
        skip("fiu-utils is not installed")
    if is_sanitized():
        skip("fiu comes before the sanitizer")
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=8, sizes=(1000,), ordinary=False, keys='validate = "never"')
        other = nodes.dataset(frames=2, name="sim2", sizes=(1000,), ordinary=False)
        nodes.configure()
        node = nodes[0]
        pipe = nodes.path("fiu")
        node.start(before=("env", f"LD_PRELOAD={FIU}", f"FIU_CTRL_FIFO={pipe}"))

        def inject(command):
            status, said = call("fiu-ctrl", "-f", pipe, "-c", command, str(node.pid()))
            expect(status == 0, said)

        nodes.push(data)
        for point in ("fdatasync", "fsync"):
            inject(f"enable name=posix/io/sync/{point},failinfo={EIO}")
        read(nodes, other, ["f0"])
        wait_until(lambda: not healthy(node), "the cache to be out of use")
        problems = node.ctl("status", "-x")
        expect(problems.status == 4 and "out of use" in problems.stdout, f"{problems}")
        why = node.ctl("explain", data.file("f0")).stdout
        expect("out of use" in why, why)
        before = node.status()
        read(nodes, data, ["f0", "f1", "f2"])
        after = node.status()
        expect(after["hits"] == before["hits"], "copies are not read")
        data.rewrite("f0")  # its copy cannot be dropped now; it must not be served later

        for point in ("fdatasync", "fsync"):
            inject(f"disable name=posix/io/sync/{point}")
        wait_until(lambda: healthy(node), "it to come back", seconds=60)
        read(nodes, data, ["f0", "f1", "f2"])
        expect(node.status()["hits"] == after["hits"] + 2, "copies are read again")
        nodes.warm(node, other, ["f1"])
        node.kill()  # fiu's own thread takes SIGTERM, and with it the process's life


def read_only_disk():
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=8, sizes=(1000,), ordinary=False)
        node = nodes[0]
        with FileSystem(nodes.path("image"), node.cache, 32) as disk:
            nodes.configure()
            node.start()
            nodes.warm(node, data, ["f0", "f1"])
            disk.remount("abort")  # ext4 behaves as after an error: read-only, for good
            read(nodes, data, ["f2"])
            wait_until(lambda: not healthy(node), "the cache to be out of use")
            read(nodes, data, sorted(data.frames))
            node.stop()


failing_flush()
read_only_disk()
