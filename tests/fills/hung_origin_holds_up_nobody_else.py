"""A server that stops answering blocks its own dataset's fills. It blocks neither another
dataset's, nor status, nor the daemon's stop."""
import signal
import time

from dataset import Dataset
from origin_server import MB, OriginServer
from processes import expect, wait_until

with OriginServer(rate=40 * MB) as server:
    frames = [f"f{seq}" for seq in range(12)]  # more than there are threads for a dataset
    for name in frames:
        server.write(name, 4 * MB)
    other = Dataset(server.node.directory + "/sim2", 8)
    server.start_node(others=[other])
    server.control(f"hang {2 * MB}")

    def at_rest():
        sent = [server.sent(name) for name in frames]
        time.sleep(1)
        return 0 not in sent and sent == [server.sent(name) for name in frames]

    readers = [server.start_reader(name) for name in frames]
    # A request that the server has begun when it stops blocks its process, even at its exit.
    wait_until(at_rest, "all fills to begin and to hang")
    server.process.signal(signal.SIGSTOP)
    # A look for leaks waits for every thread, and zazenctl leaves one behind in the dead origin.
    server.env["ASAN_OPTIONS"] = "detect_leaks=0"

    problems = server.node.status()["problems"]
    expect(any("does not answer" in problem for problem in problems), f"problems: {problems}")
    for name in sorted(other.frames):
        server.read_other(other.file(name)).succeeded()
    wait_until(lambda: server.node.held(other) == len(other.frames), "the other dataset's fills")
    expect(server.copies() == set(), "the hung fills are not published")

    server.node.stop()
    server.process.signal(signal.SIGCONT)
    server.control("release")
    for reader in readers:
        shown = reader.finish().succeeded().stdout
        expect(shown.split()[0] == str(4 * MB), f"the program has read all: {shown}")
    server.node.start()
    expect(server.node.held(other) == len(other.frames), "what was complete is kept")
