"""All users share the jobs directory, and each user's worker sweeps its user's entries. Planted
files lead the sweep nowhere, and nobody touches another user's views."""
import os
import shutil
import struct

from people import BOB, CAROL, SystemNode
from processes import expect, wait_until

VIEW_MAGIC, VIEW_VERSION, NOBODYS_PID = 0x31776569765A415A, 4, 2**22 + 1


def view(pid):
    """Enough of a view for the sweep (bodhi/lean/frames/view.h)."""
    return struct.pack("=QIIQQiiii64sQq128s", VIEW_MAGIC, VIEW_VERSION, 0, 0, 0, 0, 1, 1, pid, b"", 7, 0, b"")


with SystemNode() as node:
    data = node.dataset(2)
    precious = node.nodes.path("precious")
    os.mkdir(precious)
    with open(f"{precious}/view", "wb") as file:
        file.write(view(NOBODYS_PID))
    node.start()
    jobs = node.node.runtime + "/jobs"

    def plant():
        os.mkdir(jobs + "/dead")
        with open(jobs + "/dead/view", "wb") as file:
            file.write(view(NOBODYS_PID))
        os.symlink(precious, jobs + "/link")
        os.mkdir(jobs + "/links")
        os.symlink(f"{precious}/view", jobs + "/links/view")
        os.mkdir(jobs + "/nested")
        with open(jobs + "/nested/view", "wb") as file:
            file.write(view(NOBODYS_PID))
        os.symlink(precious, jobs + "/nested/elsewhere")
        os.mkdir(jobs + "/nested/deep")
        os.mkdir(jobs + "/alive")
        with open(jobs + "/alive/view", "wb") as file:
            file.write(view(1))
        os.mkfifo(jobs + "/fifo")
        os.mkdir(jobs + "/stuck")
        os.mkfifo(jobs + "/stuck/view")
    expect("value" in CAROL.do(plant), "carol cannot use the jobs directory")
    BOB.refused(lambda: os.rename(jobs + "/alive", jobs + "/mine"), "take another's view")
    BOB.refused(lambda: os.unlink(jobs + "/link"), "remove another's view")
    wait_until(lambda: not os.path.exists(jobs + "/dead"), "the sweep")
    expect(os.path.exists(f"{precious}/view"), "the sweep followed a link")
    left = sorted(os.listdir(jobs))
    expect(left == ["alive", "fifo", "link", "links", "stuck"], f"left: {left}")
    reports = node.node.runtime + "/reports"
    expect(sorted(os.listdir(reports)) == ["dead", "nested"], "what dead ranks left is kept")
    expect(os.listdir(precious) == ["view"], "the sweep followed a link")
    BOB.refused(lambda: os.rename(reports + "/dead", reports + "/mine"), "take another's report")
    node.check(BOB, [data.file("f0")], "with a planted jobs directory")
    for name in left:
        path = os.path.join(jobs, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
