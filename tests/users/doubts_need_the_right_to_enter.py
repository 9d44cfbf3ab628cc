"""A user reports in the counter file that frames have changed. That puts a dataset on checks only
if the user may enter it. Neither figures nor news of frames do that to a closed dataset."""
import os
import signal
import struct

from people import ALICE, CAROL, SystemNode
from processes import expect, wait_until
from workers import Workers, is_alive

WORD = struct.Struct("=Q")
MOST_DATASETS = 256
UNTOLD_AT = 8 + MOST_DATASETS * 16  # as struct Counters has them (bodhi/lean/frames/table.h)
NEWS_AT = UNTOLD_AT + MOST_DATASETS * WORD.size + 16
DROP = 8  # bodhi/lean/frames/program_news.h


def write(at, values):
    """As Carol, into her file."""
    def act():
        fd = os.open(os.path.join(node.node.runtime, "users", str(CAROL.uid)), os.O_WRONLY)
        os.pwrite(fd, b"".join(map(WORD.pack, values)), at)
        os.close(fd)
    expect(CAROL.do(act) == {"value": None}, "Carol cannot write to her file")


def doubted():
    return [data for data in (closed, open_to_all) if node.node.status_of(data)["checks_each_open"]]


def end_carols_workers():
    """So that the next one reads what is written meanwhile."""
    for pid in workers.of_uid(CAROL.uid):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), "the end of Carol's worker")


with SystemNode() as node:
    closed = node.dataset(2, name="closed", sizes=(1000,), keys='validate = "never"')
    open_to_all = node.dataset(2, name="open", sizes=(1000,), keys='validate = "never"')
    os.chmod(closed.path, 0o700)
    os.chmod(open_to_all.path, 0o755)
    for data in (closed, open_to_all):
        for name in data.frames:
            os.chmod(data.file(name), 0o644)
            os.utime(data.file(name), (1e9, 1e9))
    node.start()
    workers = Workers(node.node.pid())
    for data in (closed, open_to_all):
        node.read(ALICE, [data.file(name) for name in data.frames])
    node.ctl(CAROL, "status").succeeded()  # from now on she has a file
    for data in (closed, open_to_all):
        node.wait_for_copies(data, data.frames)
    wait_until(lambda: not doubted(), "nothing to be in doubt")

    end_carols_workers()
    write(NEWS_AT, [seq << 16 | dataset << 8 | DROP
                    for seq, dataset in enumerate((*range(2, 32), 200, 255, 0), start=1)])
    node.ctl(CAROL, "status").succeeded()
    write(UNTOLD_AT, [10**6])
    node.ctl(CAROL, "status").succeeded()
    write(UNTOLD_AT + WORD.size, [7])  # it is looked at later than the other
    wait_until(lambda: open_to_all in doubted(), "the doubt about the dataset that she may enter")
    expect(doubted() == [open_to_all], "the closed one is in doubt, too")
    said = node.node.said()
    expect(f"event=changes_not_told dataset={open_to_all.path} uid={CAROL.uid}" in said, "it is not in the log")
    expect(f"event=changes_not_told dataset={closed.path}" not in said, "the closed one is in the log")
