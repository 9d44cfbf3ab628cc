"""The same as e2e.changed_frames_are_seen_at_once for two users. Alice changes her frames, and Bob,
who may read them, never sees an old version. The copies are root's. Alice's worker drops them, also
if she has no free descriptor."""
import os
import subprocess

from lock_step import LockStep
from people import ALICE, BOB, SystemNode
from processes import expect

COUNT = 400

with SystemNode() as node:
    data = node.dataset(1, sizes=(10,), keys='validate = "never"')
    step = LockStep(data, 2 * COUNT)
    for name in [".", *os.listdir(data.path)]:
        path = os.path.join(data.path, name)
        os.chown(path, ALICE.uid, ALICE.gid)
        os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
    node.start()
    env = dict(node.nodes.env, LD_PRELOAD=node.shim, ZAZEN_CONFIG=node.node.config)

    def start(user):
        return lambda argv, stdin, stdout: subprocess.Popen(user.command(argv), env=env, stdin=stdin, stdout=stdout)

    for starved in (False, True):
        before = node.node.status()["fills"]
        step.run(node.node.cache, start(ALICE), start(BOB), COUNT, starved)
        fills = node.node.status()["fills"] - before
        expect(fills > COUNT // 50, f"hardly anything was cached: {fills} fills, no test")
    expect("changes_not_told" not in node.node.said(), "Alice could not tell of a change")
