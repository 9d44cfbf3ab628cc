"""With the capabilities of the systemd unit, and within its filter of system calls, the daemon
serves all users. It looks up in their name, mirrors rights, fills, drops and evicts."""
import os
import shutil
import signal

from nodes import skip
from people import ALICE, ALL, BOB, CAROL, SystemNode
from processes import expect, wait_until
from systemd_unit import calls_beyond, settings
from wire import INVALIDATE, LIST, SAMPLE, ask

if not shutil.which("systemd-analyze") or not shutil.which("strace"):
    skip("systemd-analyze or strace is not installed")


def answer(node, user, kind, data, name=""):
    return user.do(lambda: ask(node.node.runtime, kind, data.path, name))["value"]


capabilities = [word.removeprefix("CAP_").lower()
                for line in settings("CapabilityBoundingSet") for word in line.split()]
expect("setuid" in capabilities, f"{capabilities}")

with SystemNode() as node:
    data = node.dataset(6, sizes=(20_000,))
    nested = node.dataset(3, name="nested", template="run/{seq}/traj", sizes=(5_000,))
    more = node.dataset(2, name="more", sizes=(5_000,))
    files = [data.file(f"f{seq}") for seq in range(6)]
    os.chmod(files[4], 0o640)
    os.chmod(files[5], 0o600)
    trace = node.nodes.path("calls")
    node.node.configure([data, nested], 'users = "all"\n')
    node.nodes.env["ASAN_OPTIONS"] = "detect_leaks=0"  # it would trace what strace traces
    node.node.start(before=(
        "setpriv", "--bounding-set", ",".join(["-all", *(f"+{one}" for one in capabilities)]),
        "--no-new-privs", "strace", "-D", "-f", "-qq", "-o", trace))
    # Again and again: a daemon under strace may be too slow to be told of a miss.
    for user in ALL:
        def filled():
            readable = {os.path.basename(path) for path in node.check(user, files, "with the unit")}
            return node.node.counts(data, readable)
        wait_until(filled, f"{user}'s fills")
    for user, count in ((ALICE, 6), (BOB, 5), (CAROL, 4)):
        expect(answer(node, user, SAMPLE, data) == 0, f"{user}'s sample")
        expect(node.readable_copies(user, files) == set(files[:count]), f"{user}'s copies")
    for path in map(nested.file, nested.frames):
        node.check(BOB, [path], "of a nested name")
    expect(answer(node, BOB, LIST, data) == 0, "bob's list")
    expect(answer(node, ALICE, INVALIDATE, data, "f0") == 0, "alice's invalidation")
    os.chmod(data.path, 0o700)
    expect(answer(node, ALICE, SAMPLE, data) == 0, "alice's sample")
    expect(not node.readable_copies(BOB, files), "bob is shut out")
    expect(node.ctl(ALICE, "evict", data.path).status == 0, "alice may evict")
    node.node.configure([data, nested, more], 'users = "all"\n')
    node.node.signal(signal.SIGHUP)
    wait_until(lambda: len(node.node.status()["datasets"]) == 3, "the reload")
    node.node.stop()
    beyond = calls_beyond(trace)
    expect(not beyond, f"system calls beyond the unit's filter: {sorted(beyond)}")
