"""bodhi_read, bodhi_open_frame and bodhi_query use the copy if the node has one that is still the
origin's. Otherwise they use the origin, and the node then fetches the frame. Without a daemon they
use the origin."""
import errno
import os

from bodhi_library import ALIEN, NATIVE, Bodhi, BodhiError, frame_bytes
from nodes import Nodes
from processes import expect, wait_until


def refused(call):
    try:
        call()
    except BodhiError as error:
        return error
    raise AssertionError("no error")


def opened(reader, data, seq):
    """The path and the bytes behind the descriptor."""
    fd = reader.open_frame(data.path, seq)
    with os.fdopen(fd, "rb") as file:
        return os.readlink(f"/proc/self/fd/{fd}"), file.read()


with Nodes(2) as nodes:
    node, elsewhere = nodes
    data = nodes.dataset(frames=20)
    checked = nodes.dataset(frames=4, name="sim2", keys='validate = "always"')
    waiting = nodes.dataset(frames=4, name="sim3", keys='fill = "wait"')
    nodes.start()
    with Bodhi(node.config) as reader:
        for seq in range(10):
            reader.write(data.path, seq, frame_bytes(data, seq))
        reader.write_file(checked.path, 0)
        reader.write_file(checked.path, 1)
        reader.flush()
        own = sorted(int(name[1:]) for name in node.copies(data))
        expect(reader.query(data.path, NATIVE) == (5, own), f"{reader.query(data.path)}")
        expect(reader.query(data.path, ALIEN) == (0, []), "no aliens yet")
        expect(reader.query(data.path, NATIVE, own[1], own[3]) == (3, own[1:4]), "a range")
        expect(reader.query(data.path, NATIVE, capacity=2) == (5, own[:2]), "a small array")

        for seq in own:
            path, content = opened(reader, data, seq)
            expect(path.startswith(node.cache) and content == frame_bytes(data, seq), path)
        expect(node.status()["hits"] == len(own), "hits are counted")
        others = [seq for seq in range(20) if seq not in own]
        for seq in others:
            path, content = opened(reader, data, seq)
            expect(content == frame_bytes(data, seq), f"the origin's bytes: {path}")
        wait_until(lambda: reader.query(data.path, ALIEN) == (len(others), others), "the fills")
        expect(opened(reader, data, others[0])[0].startswith(node.cache), "from now on a hit")
        expect(os.get_inheritable(fd := reader.open_frame(data.path, 0)) is False, "not on exec")
        os.close(fd)

        whole = frame_bytes(data, 7)
        expect(reader.read(data.path, 7, 1000, 500) == whole[500:1500], "a part")
        expect(reader.read(data.path, 7, 1000, len(whole) - 10) == whole[-10:], "the end")
        expect(reader.read(data.path, 7, 10, len(whole) + 5) == b"", "beyond the end")

        # A frame that was written anew is not served old.
        held = [seq for seq in (0, 1) if f"f{seq}" in node.copies(checked)][0]
        expect(opened(reader, checked, held)[0].startswith(node.cache), "a hit")
        checked.rewrite(f"f{held}")
        expect(reader.read(checked.path, held) == frame_bytes(checked, held), "the new bytes")

        path, content = opened(reader, waiting, 3)
        expect(path.startswith(node.cache) and content == frame_bytes(waiting, 3), path)

        error = refused(lambda: reader.read(data.path, 12345))
        expect(error.errno == errno.ENOENT and "f12345: No such file" in str(error), f"{error}")
        os.mkfifo(data.file("f777"))
        expect("not a regular file" in str(refused(lambda: reader.read(data.path, 777))), "FIFO")
        expect("no dataset" in str(refused(lambda: reader.read("/nowhere", 1))), "no dataset")

        node.kill()
        for seq in own:
            expect(reader.read(data.path, seq) == frame_bytes(data, seq), "a dead daemon")
        wait_until(lambda: reader.query(data.path) == (0, []), "a dead daemon holds nothing")
        expect(opened(reader, data, own[0])[0] == data.file(f"f{own[0]}"), "the origin itself")
        node.start()
        expect(reader.query(data.path)[0] == 20, "it is back")
        expect(opened(reader, data, own[0])[0].startswith(node.cache), "hits again")
    expect("missing.toml" in str(refused(lambda: Bodhi("/missing.toml"))), "no configuration")
