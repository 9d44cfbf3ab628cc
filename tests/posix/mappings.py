"""A process that survives many reloads and restarts of its daemon maps no more memory than at the
start, nor does the daemon itself.

Its threads, and a signal handler, read frames all the while, and every byte is right. Datasets come
and go, so that tables of different lengths follow each other.
"""
import os
import signal
import subprocess

from node import PROGRAMS, Node, expect

RELOADS, RESTARTS, KILLS = 200, 6, 3
A_FEW = 40  # that do not depend on how many reloads there were

with Node() as node:
    plain = node.config.read_text()
    for name in ("second", "third"):
        (node.root / name).mkdir()
    more = [f'[[dataset]]\npath = "{node.root}/{name}"\nframes = "g{{seq}}"\n'
            for name in ("second", "third")]
    table = node.root / "run" / "table"

    def mappings(process):
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            return len(file.readlines())

    def open_files(process):
        return len(os.listdir(f"/proc/{process.pid}/fd"))

    def configure(i):
        node.config.write_text(f"capacity = {10**9 + i}\n" + plain + "".join(more[:i % 3]))

    def reload(i):
        before = table.stat().st_ino
        configure(i)
        node.daemon.send_signal(signal.SIGHUP)
        node.wait_until(lambda: table.stat().st_ino != before, f"reload {i}")

    def restart(i, how):
        node.end_daemon(how)
        configure(i)
        node.start_daemon()

    def is_mapped():
        """The process has the table that is there."""
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as file:
            return any(f" {table.stat().st_ino} " in line for line in file)

    node.start_daemon()
    node.warm()
    program = subprocess.Popen([PROGRAMS / "long_life", node.dataset], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={**os.environ, **node.shim()})
    try:
        expect(program.stdout.readline() == b"started\n", "it runs")
        # Each list of datasets has been met once, and each way of ending.
        for i in range(3):
            reload(i)
            node.wait_until(is_mapped, f"reload {i} is noticed")
        for i in range(3):
            restart(i, signal.SIGTERM)
            node.wait_until(is_mapped, f"restart {i} is noticed")
        restart(2, signal.SIGKILL)
        node.wait_until(is_mapped, "a new daemon is noticed")
        before = mappings(program)
        of_daemon = mappings(node.daemon) + open_files(node.daemon)
        for i in range(RELOADS):
            reload(i)
        node.wait_until(is_mapped, "the last reload is noticed")
        now = mappings(node.daemon) + open_files(node.daemon)
        expect(now <= of_daemon + A_FEW, f"the daemon: {of_daemon} mappings and files, then {now}")
        for i in range(RESTARTS + KILLS):
            restart(i, signal.SIGTERM if i < RESTARTS else signal.SIGKILL)
            node.wait_until(is_mapped, f"restart {i} is noticed")
        after = mappings(program)
        expect(after <= before + A_FEW, f"{before} mappings, and then {after}")
        out, _ = program.communicate(timeout=30)
        expect(out == b"reads 1 wrong 0\n" and program.returncode == 0, f"{out}")
    finally:
        program.kill()
        program.wait()
