"""A program that makes or removes frames, or opens them for writing, makes no call to the daemon, also
where they are pushed or have copies. The daemon learns of the changes all the same."""
import shutil

from nodes import SHIM, Nodes, skip
from processes import expect, run, wait_until

if not shutil.which("strace"):
    skip("strace is not installed")

CALLS = ("socket(", "connect(", "sendmsg(", "sendto(")
# Made by a shell's redirection (O_CREAT | O_TRUNC), by mktemp and rename, and exclusively.
MAKE = 'echo frame > "$0/f10"; echo frame > "$0/next"; mv "$0/next" "$0/f11"; set -C; echo frame > "$0/f12"'
REWRITE = 'echo more > "$0/f10"; echo more > "$0/f11"'
OPEN = 'exec 3<> "$0/f1"; head -c 1 <&3 > /dev/null'
REMOVE = 'unlink "$0/f10"; unlink "$0/f11"; unlink "$0/f12"'  # rm looks at a frame first


def calls(nodes, script, data):
    out = nodes.path("trace")
    run(["strace", "-f", "-e", "trace=socket,connect,sendmsg,sendto", "-o", out, "-E", f"LD_PRELOAD={SHIM}",
         "-E", f"ZAZEN_CONFIG={nodes[0].config}", "sh", "-c", script, data.path], nodes.env).succeeded()
    with open(out) as file:
        return [line for line in file if any(call in line for call in CALLS)]


def expect_silence(nodes, data, scripts):
    for script in scripts:
        made = calls(nodes, script, data)
        expect(not made, f"{script}: {made}")


with Nodes(1) as nodes:
    plain = nodes.dataset(frames=2, name="plain")
    held = nodes.dataset(frames=20, name="held", sizes=(4000,))
    pushed = nodes.dataset(frames=2, name="pushed", keys="push = true")
    nodes.start()
    node = nodes[0]
    expect_silence(nodes, plain, (MAKE, REWRITE, REMOVE))

    # The first one starts a worker by a message. From then on the worker reads the news.
    nodes.serial(node, ["sh", "-c", 'echo frame > "$0/f9"', pushed.path]).succeeded()
    node.wait_for_copies(pushed, ["f9"])
    expect_silence(nodes, pushed, (MAKE,))
    node.wait_for_copies(pushed, ["f10", "f11", "f12"])  # pushed without a message
    # A frame without a copy, too, though it is written and closed at once.
    node.ctl("evict", pushed.path).succeeded()
    expect_silence(nodes, pushed, ('exec 3<> "$0/f10"; echo more >&3',))
    node.wait_for_copies(pushed, ["f10"])

    nodes.push(held)
    expect("f11" in node.copies(held), "nothing is held: no test")
    expect_silence(nodes, held, ('echo more > "$0/f10"; unlink "$0/f11"',))
    expect(not {"f10", "f11"} & node.copies(held), "copies of changed frames have no names")
    wait_until(lambda: node.held(held) == 18, "the daemon to hear of them")

    expect_silence(nodes, plain, (OPEN,))
    expect("f1" in node.copies(held), "it is not held: no test")
    expect_silence(nodes, held, (OPEN + f'; test ! -e "{node.cache}$0/f1"',))
    wait_until(lambda: "f1" in node.copies(held), "the copy to be served again")
