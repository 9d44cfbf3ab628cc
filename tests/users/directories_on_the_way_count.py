"""A directory that a user may not search is closed to that user in the cache, too. It is the
dataset's own, one above it, one in a frame's name, or one behind a symbolic link, closed from the
start or later. A user who may not list the frames cannot read the logs."""
import os
import subprocess

from people import ALICE, ALL, BOB, CAROL, TEAM, SystemNode
from processes import expect
from wire import SAMPLE, ask

with SystemNode() as node:
    home = node.nodes.path("origin", "home")
    os.makedirs(home)
    plain = node.dataset(4, name="home/plain", sizes=(5000,))
    nested = node.dataset(4, name="nested", template="run/{seq}/traj", sizes=(5000,))
    for top, _, _ in os.walk(nested.path):
        os.chown(top, ALICE.uid, TEAM)
    real = node.nodes.path("origin", "vault")
    os.makedirs(real)
    hidden = node.dataset(4, name="vault/hidden", sizes=(5000,))
    linked = node.nodes.path("origin", "linked")
    os.symlink(hidden.path, linked)
    hidden_path, hidden.path = hidden.path, linked
    for path in (home, real):
        os.chown(path, ALICE.uid, TEAM)
        os.chmod(path, 0o755)
    datasets = (plain, nested, hidden)
    node.start(*datasets)
    files = [data.file(name) for data in datasets for name in sorted(data.frames)]

    def look():
        for data in datasets:
            expect(ask(node.node.runtime, SAMPLE, data.path) == 0, "the sample failed")

    def compare(when):
        may_read = {user: node.check(user, files, when) for user in ALL}
        look()
        for user in ALL:
            direct = node.readable_copies(user, files)
            expect(direct == may_read[user],
                   f"{when}: {user} may read {sorted(may_read[user])}, copies {sorted(direct)}")
        return may_read

    def close(path, mode, when):
        """Closes a directory, compares, and opens it again."""
        before = os.stat(path).st_mode & 0o7777
        os.chmod(path, mode)
        may_read = compare(when)
        expect(may_read[CAROL] != set(files), f"{when}: it is not closed to carol")
        os.chmod(path, before)
        return may_read

    for user in ALL:
        node.check(user, files, "at first")
    for data in (plain, hidden):
        node.wait_for_copies(data, data.frames)
    compare("all open")
    expect(len(close(home, 0o700, "the directory above")[ALICE]) == len(files), "alice is out")
    expect(len(close(home, 0o710, "the directory above, for the group")[BOB]) == len(files), "")
    close(plain.path, 0o750, "the dataset's own")
    close(nested.path + "/run/2", 0o700, "one of the frame's name")
    close(nested.path + "/run", 0o710, "the frame directory")
    close(real, 0o700, "one behind a link")
    subprocess.run(["setfacl", "-m", "u:70002:-", home], check=True)
    expect(compare("a named user")[BOB] != set(files), "bob is in")
    subprocess.run(["setfacl", "-b", home], check=True)
    compare("all open again")

    def read_log():
        with open(node.copy(plain.path) + "/.zazen/alien.seq", "rb") as file:
            return len(file.read())
    expect(CAROL.do(read_log)["value"] > 0, "the log is empty")
    os.chmod(plain.path, 0o711)  # may be searched, not listed
    look()
    CAROL.refused(read_log, "read which frames there are")
    expect(ALICE.do(read_log)["value"] > 0, "alice cannot read the log")
    CAROL.refused(lambda: os.listdir(node.copy(plain.path)), "list the copies")
    hidden.path = hidden_path
