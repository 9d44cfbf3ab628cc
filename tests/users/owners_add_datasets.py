"""zazenctl add: with user_datasets = true the owner of a directory makes it a dataset at once, and
nobody else does. It outlives the daemon, and goes when the owner or root takes it away."""
import errno
import os

from people import ALICE, BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import ADD_DATASET, HEADER, MAGIC, VERSION, WAIT, answer_to, frame_packet

TAKE_AWAY, MOST_OF_USER, MOST_CHANGES = 16, 16, 60

with SystemNode() as node:
    fixed = node.dataset(2)
    hers = node.dataset(4, name="hers")
    runtime = node.node.runtime
    ordinary = node.nodes.path("origin", "more")
    os.mkdir(ordinary)
    os.chown(ordinary, ALICE.uid, ALICE.gid)

    def served():
        return {each["path"] for each in node.node.status()["datasets"]}

    def add(user, *words):
        return node.ctl(user, "add", *words)

    def asked(user, path, frames="f{seq}", flags=0):
        """The status of a message that the user makes without zazenctl."""
        answer = user.do(lambda: answer_to(runtime, frame_packet(ADD_DATASET, path, frames, WAIT | flags)))
        expect("value" in answer, f"{user} has no answer: {answer}")
        return answer["value"]

    def is_refused(done, *words):
        expect(done.status == 1 and done.stdout == "", f"refused: {done}")
        for word in (*words, "hint: "):
            expect(word in done.stderr, f"{word!r} is not in {done.stderr}")

    # The operator allows nothing by default.
    node.start(fixed)
    is_refused(add(ALICE, hers.path), hers.path, "this node takes no datasets of users", "user_datasets = true")
    expect(asked(ALICE, hers.path) == errno.EPERM and served() == {fixed.path}, f"{served()}")
    node.node.stop()

    # The owner only, of the directory itself.
    node.start(fixed, extra="user_datasets = true\n")
    for user in (BOB, CAROL):
        is_refused(add(user, hers.path), "only the owner of a directory may add it")
        expect(asked(user, hers.path) == errno.EACCES, f"{user} owns it not")
    bobs_link = node.nodes.path("origin", "link")
    os.symlink(hers.path, bobs_link)
    os.lchown(bobs_link, BOB.uid, BOB.gid)
    expect(asked(BOB, bobs_link) in (errno.ELOOP, errno.ENOTDIR), "a link is no directory")
    expect(asked(ALICE, bobs_link) in (errno.ELOOP, errno.ENOTDIR), "nor for the owner of its target")
    os.rename(bobs_link, node.nodes.path("origin", "up"))
    os.unlink(node.nodes.path("origin", "up"))
    os.symlink(os.path.dirname(hers.path), bobs_link)
    expect(asked(ALICE, f"{bobs_link}/hers") == errno.ELOOP, "a way through a link")
    os.unlink(bobs_link)
    expect(served() == {fixed.path}, f"{served()}")

    done = add(ALICE, hers.path).succeeded()
    expect("4 of 4 files are named f{seq}" in done.stdout, f"{done}")
    expect(served() == {fixed.path, hers.path}, f"{served()}")
    expect(add(ALICE, hers.path).status == 0, "once more is as once")
    is_refused(add(ALICE, hers.path, "--frames", "g{seq}"), "is a dataset with frames")
    node.read(BOB, [hers.file("f1")])
    node.node.wait_for_copies(hers, ["f1"])
    node.check(CAROL, [hers.file("f1")], "added")
    expect("f1" in node.ctl(ALICE, "ls", hers.path).succeeded().stdout, "zazenctl knows it")

    # No overlap with what is there, whatever it is called.
    for path in (fixed.path, hers.path + "/below", os.path.dirname(hers.path), node.node.cache,
                 node.node.runtime, node.node.cache + "/x"):
        os.makedirs(path, exist_ok=True)
        expect(answer_to(runtime, frame_packet(ADD_DATASET, path, "g{seq}")) == errno.EEXIST, f"{path} overlaps")
    os.rmdir(hers.path + "/below")

    # Hostile fields. A directory of such a name may exist.
    for name in ('qu"ote\\', "new\nline", "tab\t", "esc\x1b[2J", "\udcff", "b" * 200):
        path = os.path.join(ordinary, name)
        os.mkdir(os.fsencode(path))
        os.chown(os.fsencode(path), ALICE.uid, ALICE.gid)
        want = 0 if name[0] in "bq" else errno.EINVAL
        expect(asked(ALICE, path) == want, f"{name!r}: {asked(ALICE, path)}, not {want}")
    for frames in ("", "f", "{seq}{seq}", "a\nb{seq}", 'f"{seq}\\', "\udcff{seq}", "../{seq}", "x" * 255):
        want = 0 if frames.startswith('f"') else errno.EINVAL
        other = os.path.join(ordinary, "templates")
        os.makedirs(other, exist_ok=True)
        os.chown(other, ALICE.uid, ALICE.gid)
        expect(asked(ALICE, other, frames) == want, f"{frames!r}: {asked(ALICE, other, frames)}")

    # Malformed messages end the connection.
    def body(path, frames=b"f{seq}", lengths=None):
        import struct
        sizes = lengths or (len(path), len(frames))
        text = struct.pack("<HH", *sizes) + path + frames
        return HEADER.pack(MAGIC, VERSION, ADD_DATASET, len(text), WAIT, 1, 0, 0) + text
    for wrong in (body(b"/a\0b"), body(b"relative"), body(b""), body(b"/x" * 600), body(b"/x", b"f\0{seq}"),
                  body(b"/x", b"y" * 256), body(b"/x", lengths=(60000, 6)), body(b"/x", lengths=(2, 5))):
        answer = ALICE.do(lambda: answer_to(runtime, wrong))
        expect(answer.get("value", "gone") is None or "errno" in answer, f"{wrong[:60]!r}: {answer}")
    answer = ALICE.do(lambda: answer_to(runtime, body(b"/" + b"x" * 65000)))
    expect(answer.get("value") is None, f"64 KB: {answer}")
    expect(node.node.status()["pid"] == node.node.pid(), "the daemon lives")

    # It outlives the daemon.
    before = served()
    node.node.stop()
    node.node.start()
    expect(served() == before, f"{served()} is not {before}")
    expect(node.node.held(hers) >= 1, "and so do its copies")

    # A directory that is swapped afterwards shows nobody more than the origin.
    secret = os.path.join(node.nodes.directory, "secret")
    os.mkdir(secret, 0o700)
    os.chown(secret, CAROL.uid, CAROL.gid)
    with open(os.path.join(secret, "f3"), "w") as file:
        file.write("carol's")
    os.chown(os.path.join(secret, "f3"), CAROL.uid, CAROL.gid)
    os.rename(hers.path, hers.path + ".away")
    os.symlink(secret, hers.path)
    for user in (ALICE, BOB, CAROL):
        node.check(user, [hers.file("f3")], "swapped")
    os.unlink(hers.path)
    os.rename(hers.path + ".away", hers.path)

    # One user leaves room for the others.
    codes = []
    for i in range(MOST_OF_USER + 4):
        path = os.path.join(ordinary, f"many{i}")
        os.mkdir(path)
        os.chown(path, BOB.uid, BOB.gid)
        codes.append(asked(BOB, path))
    expect(codes == [0] * MOST_OF_USER + [errno.EDQUOT] * 4, f"{codes}")
    for i in range(MOST_OF_USER):
        expect(asked(BOB, os.path.join(ordinary, f"many{i}"), flags=TAKE_AWAY) == 0, "his own")
    expect(asked(BOB, os.path.join(ordinary, f"many{MOST_OF_USER}")) == errno.EDQUOT, "positions are used up")
    is_refused(add(BOB, os.path.join(ordinary, f"many{MOST_OF_USER}"), "--frames", "f{seq}"), "as one user may")

    # Each change is a new table for all programs, so a user may not go on for ever.
    toggled = os.path.join(ordinary, "toggled")
    os.mkdir(toggled)
    os.chown(toggled, CAROL.uid, CAROL.gid)
    codes = set()
    for i in range(MOST_CHANGES * 4):
        codes.add(asked(CAROL, toggled, flags=TAKE_AWAY * (i % 2)))
        if errno.EAGAIN in codes:
            break
    expect(codes <= {0, errno.EAGAIN, errno.ENOENT} and errno.EAGAIN in codes, f"{codes} after {i}")

    # Only the user who has added it takes it away, or root.
    is_refused(add(BOB, "--remove", hers.path), "only the user who has added it")
    is_refused(add(ALICE, "--remove", fixed.path), "no user has added it")
    add(ALICE, "--remove", hers.path).succeeded()
    expect(hers.path not in served(), f"{served()}")
    node.check(BOB, [hers.file("f1")], "taken away")
    add(ALICE, hers.path).succeeded()
    expect(hers.path in served(), "again")
    node.node.ctl("add", "--remove", hers.path).succeeded()
    wait_until(lambda: hers.path not in served(), "root takes it away")
