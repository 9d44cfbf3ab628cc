"""`push = true`: unmodified programs write files under the shim, in all their ways. A file arrives when the
last program has closed it, and not earlier. Each arrives once, as a native, equal to the origin's bytes. This
holds also when the program is killed, and when it writes to the frame again."""
import os
import signal

from bodhi_library import check_placed, frame_bytes
from nodes import BUILD, Nodes
from processes import Process, expect, wait_until

WRITE_FRAME = f"{BUILD}/tests/writer/write_frame"
WAYS = ("open", "new-file", "creat", "stdio", "syscall", "link", "rename", "exchange", "symlink",
        "spawned-child", "exit", "appending", "truncating")
HELD = ("held-open", "held-by-stdio", "held-by-second-number", "held-by-child", "held-by-mapping")
PLAIN = dict(enumerate(WAYS * 3))
HOLDING = dict(enumerate(HELD, 100))
KILLED = {200: "held-open", 201: "held-by-child"}


def natives(nodes, data):
    return sorted(name for node in nodes for name in node.copies(data))


def settled(node, held=0):
    writer = node.status()["writer"]
    return (writer["being_written"], writer["waiting"]) == (held, 0)


def start(nodes, data, way, seq, *words):
    name = data.file(data.template.format(seq=seq))
    process = Process([WRITE_FRAME, way, name, *words], dict(nodes.env, **nodes.shim(nodes[0])))
    nodes.running.append(process)
    return process


def finish(nodes, process):
    nodes.running.remove(process)
    return process.finish()


with Nodes(3) as nodes:
    data = nodes.dataset(frames=0, ordinary=False, keys="push = true")
    nodes.start()
    go = nodes.path("go")
    holders = {}
    for seq, way in {**HOLDING, **KILLED}.items():
        holders[seq] = start(nodes, data, way, seq, f"{go}-{seq}")
        wait_until(lambda: os.path.exists(f"{go}-{seq}.held"), f"{way} to hold its frame")

    # Others come and go meanwhile.
    for seq, way in PLAIN.items():
        finish(nodes, start(nodes, data, way, seq)).succeeded()
    wait_until(lambda: len(natives(nodes, data)) == len(PLAIN), "the frames to arrive")
    wait_until(lambda: settled(nodes[0], len(holders)), "the daemon to have no more to do")
    check_placed(nodes, data, PLAIN)
    expect(nodes[0].status()["writer"]["dropped"] == 0, f"{nodes[0].status()['writer']}")

    # The last one closes it, or the kernel does at its end.
    for seq in KILLED:
        for name in os.listdir("/proc"):
            try:
                words = open(f"/proc/{name}/cmdline", "rb").read() if name.isdigit() else b""
            except OSError:
                continue
            if f"{go}-{seq}\0".encode() in words:
                os.kill(int(name), signal.SIGKILL)
    for seq in HOLDING:
        open(f"{go}-{seq}", "w").close()
    for process in holders.values():
        finish(nodes, process)
    everything = {**PLAIN, **HOLDING, **KILLED}
    wait_until(lambda: len(natives(nodes, data)) == len(everything), "those that were held")
    wait_until(lambda: settled(nodes[0]), "the daemon to have no more to do")
    where = check_placed(nodes, data, everything)
    for seq in HOLDING:
        expect(len(frame_bytes(data, seq)) == 60000, f"frame {seq} is whole")
    for seq in KILLED:
        expect(len(frame_bytes(data, seq)) == 30000, f"frame {seq} is half a frame")

    # Written once more, a frame replaces its old copy wherever that is, also after a reload.
    nodes[0].signal(signal.SIGHUP)
    wait_until(lambda: "reloaded" in nodes[0].said(), "the daemon to read its configuration")
    before = nodes[0].status()["writer"]["pushed"]
    for seq in range(6):
        path = data.file(f"f{seq}")
        nodes.serial(nodes[0], ["sh", "-c", f"echo more >> {path}"]).succeeded()
    nodes.serial(nodes[0], ["truncate", "-s", "17", data.file("f6")]).succeeded()
    nodes.serial(nodes[0], ["mv", data.file("f7"), data.file("f300")]).succeeded()
    wait_until(lambda: nodes[0].status()["writer"]["pushed"] >= before + 8, "them to arrive")
    wait_until(lambda: settled(nodes[0]), "the daemon to have no more to do")
    again = {f"f{seq}": frame_bytes(data, seq) for seq in [*range(7), 300]}
    for name, content in again.items():
        places = [node for node in nodes if name in node.copies(data)]
        expect(len(places) == 1, f"{name} is on {[node.name for node in places]}")
        if name in where:
            expect(places[0] is where[name], f"{name} moved from {where[name].name}")
        with open(places[0].cache + data.file(name), "rb") as copy:
            expect(copy.read() == content, f"{name}: other bytes")
