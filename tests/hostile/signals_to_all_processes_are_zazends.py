"""A terminal or systemd sends a signal to zazend, its forker and its workers. Only zazend acts on
it: SIGHUP reloads the configuration, SIGTERM is a clean stop."""
import os
import signal

from nodes import Nodes
from processes import expect, wait_until
from workers import Workers, is_alive

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=4)
    nodes.start()
    nodes.serial(node, ["cat", *(data.file(name) for name in data.frames)]).succeeded()
    pid = node.pid()
    processes = Workers(pid).everybody()

    def signal_all(number):
        for process in reversed(processes):  # zazend gets it last
            os.kill(process, number)

    signal_all(signal.SIGHUP)
    wait_until(lambda: "event=reloaded" in node.said(), "the reload")
    expect(all(map(is_alive, processes)) and node.status()["pid"] == pid, "the same processes serve")
    signal_all(signal.SIGTERM)
    wait_until(lambda: not is_alive(pid), "zazend to end")
    expect("forker_ended" not in node.said() and "event=stopped" in node.said(), node.said())
    node.finish()
