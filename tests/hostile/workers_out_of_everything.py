"""A user leaves their own workers no descriptor, no memory or no thread (prlimit). The user's
programs read the origin, nobody else waits, and neither zazend nor a worker ends. Later the user is
served again."""
import resource

from forked import run_as
from nodes import is_sanitized, skip
from people import ALICE, BOB, CAROL, SystemNode, User
from processes import expect, wait_until
from wire import REQUESTS, SAMPLE, answer_to, ask, example
from witness import Witness
from workers import Workers, descriptors_of, is_alive, status_of

ROUNDS = 3

if is_sanitized():
    skip("a sanitizer's run time needs memory and threads itself")


def limit(pid, kind, most=None):
    """A soft limit; without a figure there is none."""
    hard = resource.prlimit(pid, kind)[1]
    resource.prlimit(pid, kind, (hard if most is None else most, hard))


def limit_all(user, kind, figures):
    """The user limits these workers, each by a process with its group: otherwise the kernel refuses."""
    for pid, most in figures.items():
        twin = User(user.name, user.uid, user.groups)
        twin.gid = int(status_of(pid).get("Gid", str(user.gid)).split()[0])
        told = twin.do(lambda: limit(pid, kind, most))
        expect("value" in told or not is_alive(pid), f"{user} cannot limit {pid}: {told}")


def memory_of(pid):
    return 1024 * int(status_of(pid)["VmSize"].split()[0])


LIMITS = {
    "descriptors": (resource.RLIMIT_NOFILE, descriptors_of),
    "three descriptors": (resource.RLIMIT_NOFILE, lambda pid: descriptors_of(pid) + 3),
    "memory": (resource.RLIMIT_AS, memory_of),
    "a megabyte": (resource.RLIMIT_AS, lambda pid: memory_of(pid) + (1 << 20)),
    "threads": (resource.RLIMIT_NPROC, lambda pid: 1),
}

with SystemNode() as node:
    data, bobs = node.dataset(6, sizes=(1000, 200_000)), node.dataset(4, owner=BOB, name="bobs", sizes=(1000,))
    carols = node.dataset(6, owner=CAROL, name="carols", sizes=(1000, 200_000), keys="push = true")
    files = [one.file(name) for one in (data, carols) for name in sorted(one.frames)]
    node.start()
    zazend, runtime = node.node.pid(), node.node.runtime
    workers = Workers(zazend)

    def is_served(user):
        try:
            return user.do(lambda: ask(runtime, SAMPLE, data.path)) == {"value": 0}
        except AssertionError:
            return False

    def send_all():
        """One of each message; it does not matter what comes of them."""
        for row in REQUESTS:
            for one in (data, carols):
                with open(one.file("f1"), "rb") as file:
                    fd = file.fileno() if row.descriptor == "one" else None
                    try:
                        answer_to(runtime, example(row, one.path, "f1"), fd)
                    except OSError:
                        pass

    def try_all(user, when):
        for _ in range(ROUNDS):
            node.check(user, files, when)
            run_as(user, send_all, "send")

    def evict():
        node.node.ctl("evict", carols.path).succeeded()

    def is_cached_again(user):
        evict()
        node.check(user, files, "with all that it needs")
        return carols.frames == node.node.copies(carols)

    with Witness(BOB, node, data, bobs) as witness:
        for what, (kind, most) in LIMITS.items():
            for user in (CAROL, ALICE):  # Alice owns the frames that Bob reads
                wait_until(lambda: is_served(user), f"{user} to be served")
                serving = workers.of(user)
                figures = {pid: most(pid) for pid in workers.of_uid(user.uid)}
                evict()
                limit_all(user, kind, figures)
                try_all(user, f"without {what}")
                witness.goes_on(1)
                expect(is_alive(zazend) and all(map(is_alive, serving)), f"one has ended without {what}")
                expect(kind != resource.RLIMIT_NOFILE or not node.node.copies(carols), "there are descriptors: no test")
                limit_all(user, kind, dict.fromkeys(figures))
                wait_until(lambda: is_cached_again(user), f"{user}'s copies when there are {what} again")
        witness.goes_on()
    print(f"bob's slowest answer came after {witness.slowest:.3f} s")
    expect("event=shortage" in node.node.said(), "there was enough memory: no test")
    expect(node.node.status()["healthy"], "zazend is not well")
