"""All users may ask for status; users who may list the frames for ls; root and the dataset's owner
for evict. A listing is taken from users who may write there, and under the sticky bit only from the
owner. Invalidate drops frames that the client may change, or that have changed, and nothing else;
the same users may report that they write a frame. Notices of other daemons are taken from root
only. Users who may search the directory may ask for the history of a copy."""
import errno
import os

from people import ALICE, ALL, BOB, CAROL, SystemNode
from processes import expect, wait_until
from wire import (EVICT, HISTORY, INVALIDATE, KEEP_LISTING, LIST, PEER_NOTICE, REQUESTS, SAMPLE, WRITTEN, answer_to,
                  ask, example)

with SystemNode() as node:
    data = node.dataset(6, sizes=(5000,), keys="push = true")
    files = [data.file(name) for name in sorted(data.frames)]
    runtime = node.node.runtime
    node.start()
    node.read(ALICE, files)
    node.wait_for_copies(data, data.frames)

    def asked(user, kind, name=""):
        answer = user.do(lambda: ask(runtime, kind, data.path, name))
        expect("value" in answer, f"{user} has no answer: {answer}")
        return answer["value"]

    for user in ALL:
        expect('"node"' in node.ctl(user, "status", "--json").succeeded().stdout, "no status")
        expect(asked(user, LIST) == 0 and asked(user, SAMPLE) == 0, f"{user} may list")
    os.chmod(data.path, 0o711)
    expect(asked(CAROL, LIST) == errno.EACCES, "carol lists what she could not")
    expect(asked(CAROL, SAMPLE) == 0, "carol may still search it")
    expect("f1" not in node.ctl(CAROL, "ls").stdout, "ls shows frames to carol")
    os.chmod(data.path, 0o700)
    expect(asked(CAROL, SAMPLE) == errno.EACCES, "carol asks for a sample of what she cannot see")
    expect(asked(CAROL, HISTORY, "f1") == errno.EACCES, "carol hears what became of a copy that she cannot see")
    os.chmod(data.path, 0o755)

    for user in ALL:
        expect(asked(user, HISTORY, "f1") == 0, f"{user} does not hear what became of a copy")
        expect(asked(user, PEER_NOTICE) == errno.EPERM, f"{user} may speak for another daemon")
    expect(ask(runtime, PEER_NOTICE, data.path) == errno.EINVAL, "root may, but this is no notice")

    # Each message, by the table's word: for root only, or for those with a right at the origin.
    with open(files[0], "rb") as file:
        for row in REQUESTS:
            fd = file.fileno() if row.descriptor == "one" else None

            def status():
                return answer_to(runtime, example(row, data.path, "f0"), fd)

            if row.sender == "own_user":
                for user in ALL:
                    expect(user.do(status) == {"value": errno.EPERM}, f"{user} may send {row.name}")
            if row.wish != "none":
                os.chmod(data.path, 0o700)
                expect(CAROL.do(status) == {"value": errno.EACCES}, f"carol may send {row.name}")
                os.chmod(data.path, 0o755)

    def vouched(user):
        listing = os.memfd_create("listing")  # an empty one is malformed: EINVAL means allowed
        return user.do(lambda: ask(runtime, KEEP_LISTING, data.path, "", listing))

    for user in (BOB, CAROL):
        expect(asked(user, EVICT) == errno.EACCES, f"{user} may evict")
        expect(vouched(user) == {"value": errno.EACCES}, f"{user} may say which frames there are")
    os.chmod(data.path, 0o1777)
    expect(vouched(BOB) == {"value": errno.EACCES}, "bob may hide what he may not remove")
    expect(vouched(ALICE) == {"value": errno.EINVAL}, "the owner may not say which frames there are")
    os.chmod(data.path, 0o777)
    expect(vouched(BOB) == {"value": errno.EINVAL}, "bob may remove frames, but not list them")
    os.chmod(data.path, 0o755)
    for user in (BOB, CAROL):
        expect(asked(user, INVALIDATE, "f0") == 0, "no answer")
        expect("f0" in node.node.copies(data), f"{user} has dropped a frame that is as it was")
    os.utime(data.file("f1"), (1, 1))
    expect(asked(CAROL, INVALIDATE, "f1") == 0, "no answer")
    expect("f1" not in node.node.copies(data), "a changed frame is still there")
    expect(asked(ALICE, INVALIDATE, "f0") == 0, "no answer")
    expect("f0" not in node.node.copies(data), "alice cannot drop her own frame")
    os.chown(data.file("f2"), CAROL.uid, CAROL.gid)
    os.chmod(data.file("f2"), 0o444)
    expect(asked(CAROL, INVALIDATE, "f2") == 0 and "f2" not in node.node.copies(data),
           "carol cannot drop the frame that she owns")

    # A frame that is written is pushed: by who may write there, or owns it.
    os.symlink(data.file("f3"), data.file("f90"))
    for name in ("f3", "f90", "f91"):
        expect(asked(BOB, WRITTEN, name) == errno.EACCES, f"bob has {name} pushed")
    expect(asked(ALICE, WRITTEN, "f90") == errno.EINVAL, "a link is no frame")
    expect(asked(ALICE, WRITTEN, "f91") == errno.ENOENT, "there is none")
    expect(asked(ALICE, WRITTEN, "f3") == 0 and asked(CAROL, WRITTEN, "f2") == 0, "not pushed")
    wait_until(lambda: node.node.held(data, "native") == 2, "the owners' frames to be pushed")
    expect(asked(ALICE, EVICT) == 0, "the owner may not evict")
    expect(not node.node.copies(data), "something is left")
