"""The processes of one zazend (D23): itself, its forker and its workers, as /proc shows them."""
import os

from processes import expect


def status_of(pid):
    """The lines of /proc/PID/status, or nothing if there is no such process."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return {}


def is_alive(pid):
    return status_of(pid).get("State", "Z")[0] not in "ZX"


def state_of(pid):
    return status_of(pid).get("State", "Z")[0]


def children_of(pid):
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return [child for child in found if is_alive(child)]


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def private_kilobytes(pid):
    """The memory that the process shares with no other."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


class Workers:
    def __init__(self, zazend):
        self.zazend = zazend
        children = [pid for pid in children_of(zazend) if status_of(pid).get("Name") == "zazend-forker"]
        expect(len(children) == 1, f"forkers: {children}")
        self.forker = children[0]

    def all(self):
        """Those that have become their user."""
        return [pid for pid in children_of(self.forker) if status_of(pid).get("Name") == "zazend-worker"]

    def of_uid(self, uid):
        return [pid for pid in self.all() if status_of(pid).get("Uid", "-1").split()[0] == str(uid)]

    def of(self, user):
        """Those that serve this user's programs. zazend may have another one for what it wants to know itself:
        it does not know the groups of its user."""
        def serves(pid):
            status = status_of(pid)
            return (status.get("Gid", "-1").split()[0] == str(user.gid) and
                    sorted(status.get("Groups", "-1").split()) == sorted(map(str, user.groups)))
        return [pid for pid in self.of_uid(user.uid) if serves(pid)]

    def everybody(self):
        return [self.zazend, self.forker, *children_of(self.forker)]
