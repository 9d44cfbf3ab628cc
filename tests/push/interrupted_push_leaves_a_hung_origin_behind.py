"""^C comes while an origin hangs in the middle of a transfer. zazenctl push reports its result and
does not wait for the hanging thread. A thread that returns before the end does no harm."""
import fcntl
import json
import os
import signal
import subprocess

from network import expect, free_port, wait_until
from nodes import ZAZENCTL
from origin_server import MB, OriginServer

FRAMES = 4


def full_pipe():
    """(read end, write end, bytes in it): a write to it blocks."""
    taken, given = os.pipe()
    fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(given, False)
    size = 0
    try:
        while True:
            size += os.write(given, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(given, True)
    return taken, given, size


def writes_to_stdout(pid):
    with open(f"/proc/{pid}/syscall") as file:
        return file.read().split()[:2] == ["1", "0x1"]


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def drain(pipe):
    with open(pipe, "rb") as file:
        return file.read()


with OriginServer() as server:
    for seq in range(FRAMES):
        server.write(f"f{seq}", 4 * MB)
    server.mount()
    address = f"127.0.0.1:{free_port()}"
    server.node.configure([server], f'listen = "{address}"\nwriter_timeout = "1s"\n')
    server.node.start()
    server.control(f"hang {2 * MB}")

    taken, given, size = full_pipe()
    push = subprocess.Popen(
        [ZAZENCTL, "--config", server.node.config, "push", server.path, "--json", "--to", address],
        env=dict(server.env, MALLOC_PERTURB_="165"), stdout=given, stderr=subprocess.PIPE)
    os.close(given)
    try:
        wait_until(lambda: server.sent("f0") > 0, "the transfer to begin")
        push.send_signal(signal.SIGINT)
        wait_until(lambda: writes_to_stdout(push.pid), "its last words")
        before = threads(push.pid)
        expect(before > 1, "a thread still hangs")
        server.control("release")
        wait_until(lambda: threads(push.pid) < before, "that thread to end")

        said = drain(taken)[size:]
        errors = push.stderr.read().decode()
        expect(push.wait(60) == -signal.SIGINT, f"ended by the signal: {push.returncode} {errors}")
        figures = json.loads(said)
        expect(figures["stopped"] and figures["failed"] == 0 and figures["pushed"] == 0, f"{figures}")
        expect(errors.startswith("zazenctl: note: waiting for ") and errors.count("\n") == 1, errors)
        expect(figures["unanswered"] > 0, f"{figures}")
    finally:
        push.kill()
