"""A writer without a key cannot send a node a notice. A writer with the key cannot drop copies by nonsense.
Names that are no frames have no effect, nor have notices of the present version or an older one. A native that
still waits for its origin stays."""
import os
import struct

from changed_frames import KEYS, SIZE, Nodes, expect, has_copy, start_nodes, wait_until
from network import BY_KEY, Content, Stranger, push

NOTICE = 7
FRAMES, DISTRUST = 2, 3
NEVER_MET, GONE = 4711, 1


def frame(name, version, gone=0, age_ms=0):
    name = name.encode()
    return struct.pack("<QqqHHI", *version, len(name), gone, age_ms) + name


def notice(kind, dataset, frames=(), node=b"stranger"):
    dataset = dataset.encode()
    head = struct.pack("<QHHHH", NEVER_MET, kind, len(node), len(dataset), len(frames))
    return head + node + dataset + b"".join(frames)


def version_of(path):
    st = os.stat(path)
    return st.st_size, st.st_mtime_ns, st.st_ctime_ns


with Nodes(2) as nodes:
    data = nodes.dataset(frames=3, sizes=(SIZE,), keys=KEYS)
    start_nodes(nodes, over_tcp=True)
    node = nodes[1]
    with open(nodes.path("key"), "rb") as file:
        key = file.read()
    nodes.warm(node, data, sorted(data.frames))
    content = Content(nodes, {"f77": 1000})
    answers, done = push(nodes, node.peer, nodes.path("key"), data, "bytes", content.words())
    expect(answers == {"f77": 0}, f"{answers} {done}")
    expect(node.status_of(data)["waiting"] == 1, "the native does not wait: no test")

    def tell(body, secret=key):
        """The answer's status; None: the connection was closed."""
        with Stranger(node.peer) as stranger:
            if stranger.introduce(secret, BY_KEY) != 0:
                return None
            stranger.socket.sendall(stranger.message(NOTICE, body))
            answer = stranger.answer()
            return None if answer is None else answer[1]

    current = version_of(data.file("f0"))
    older = (current[0] + 1, current[1] - 1, current[2] - 1)
    newer = (current[0], current[1], current[2] + 1)

    expect(tell(notice(FRAMES, data.path, [frame("f0", newer)]), b"another key" * 3) is None,
           "a stranger was heard")
    for body in (b"x", b"", notice(9, data.path), notice(FRAMES, data.path), notice(FRAMES, "sim", [b"f"]),
                 notice(FRAMES, data.path, [frame("f0", newer)])[:-1],
                 notice(FRAMES, data.path, [frame("f0", newer)]) + b"x",
                 notice(FRAMES, data.path, [frame("f0", newer, GONE)]),
                 notice(FRAMES, data.path, [frame("f0", newer)], node=b"n" * 64),
                 b"\xff" * 9000):
        status = tell(body)
        expect(status in (None, 22), f"{body[:80]}: {status}")
    for names in (["f00"], ["../sim1/f0"], ["/etc/passwd"], ["f0/"], ["topology.top"]):
        expect(tell(notice(FRAMES, data.path, [frame(name, newer) for name in names])) == 0, names)
    expect(tell(notice(FRAMES, "/elsewhere", [frame("f0", newer)])) == 0, "another dataset")
    expect(tell(notice(FRAMES, data.path, [frame("f0", current), frame("f1", older)])) == 0, "old news")
    expect(tell(notice(FRAMES, data.path, [frame("f0", (0, 0, 0), GONE, 3_600_000)])) == 0, "older than the copy")
    expect(tell(notice(FRAMES, data.path, [frame("f77", newer), frame("f77", (0, 0, 0), GONE)])) == 0, "waiting")
    expect(tell(notice(DISTRUST, data.path)) == 0, "distrust")
    wait_until(lambda: not node.status_of(data)["checks_each_open"], "all copies to be compared")
    expect(all(has_copy(node, data, name) for name in ("f0", "f1", "f2")), "a copy was dropped")
    expect(node.status_of(data)["waiting"] == 1, "the native that waits was dropped")
    figures = node.status()["changes"]
    expect(figures["dropped"] == 0 and figures["doubts"] >= 2, figures)

    expect(tell(notice(FRAMES, data.path, [frame("f0", newer)])) == 0, "news")
    expect(not has_copy(node, data, "f0"), "the test's own notices are not understood: no test")
