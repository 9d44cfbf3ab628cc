"""After EIO, a truncated file or a dead server nothing is cached, and the program sees the same as
without Zazen."""
import errno
import os
import signal

from origin_server import MB, OriginServer
from processes import expect, wait_until

SIZE = 16 * MB


def failed_fills(server):
    return server.node.status()["fills_failed"]


with OriginServer(rate=40 * MB) as server:
    for name in ("f1", "f2", "f3"):
        server.write(name, SIZE)
    server.start_node()
    server.note_empty_logs()

    # An error in the middle.
    server.control(f"fail {SIZE // 2}")
    seen = server.read("f1").stdout
    expect(seen.split()[-1] == str(errno.EIO), f"no EIO: {seen}")
    expect(int(seen.split()[0]) >= SIZE // 4, f"the first half can be read: {seen}")
    wait_until(lambda: failed_fills(server) == 1, "the fill to fail")
    server.check_nothing_is_held()
    server.control("release")
    expect(server.read("f1", shim=False).stdout.split()[0] == str(SIZE), "it was no lasting error")

    # The file ends earlier than it said.
    reader = server.start_reader("f2", end=MB)
    # More than the daemon reads ahead of the program.
    wait_until(lambda: server.sent("f2") > 3 * MB, "the fill to begin")
    os.truncate(os.path.join(server.backing, "f2"), SIZE // 4)
    reader.finish().succeeded()
    wait_until(lambda: failed_fills(server) == 2, "the fill to fail")
    server.check_nothing_is_held()
    seen = server.read("f2", shim=False).stdout
    expect(seen.split()[0] == str(SIZE // 4), f"the program sees the shorter file: {seen}")

    # The server is killed.
    server.control(f"rate {4 * MB}")
    reader = server.start_reader("f3")
    wait_until(lambda: server.sent("f3") > MB, "the fill to begin")
    server.process.signal(signal.SIGKILL)
    seen = reader.finish().stdout
    expect(seen.split()[-1] in map(str, (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)),
           f"no error: {seen}")
    wait_until(lambda: failed_fills(server) == 3, "the fill to fail")
    server.check_nothing_is_held()
    server.unmount()
    server.mount()
    seen = server.read("f1").stdout
    expect(seen.split()[0] == str(SIZE), f"it goes on with a new server: {seen}")
    server.wait_for_copy("f1")
    server.check_copy("f1")
