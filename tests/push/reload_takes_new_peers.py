"""A node that gets its peers by a reload tells them of changes. A peer that is gone from the list
gets no further notice. A peer that comes back compares all its copies."""
import signal

from changed_frames import KEYS, QUIET, SIZE, Nodes, change, expect, has_copy, start_nodes, wait_for_drop, wait_until

with Nodes(3) as nodes:
    data = nodes.dataset(frames=4, sizes=(SIZE,), keys=KEYS)
    start_nodes(nodes, over_tcp=False)
    here, leaves, stays = nodes

    def name_peers(*peers):
        here.configure(nodes.datasets, QUIET, peers=[f"unix:{peer.runtime}" for peer in peers])
        here.signal(signal.SIGHUP)
        expected = {f"unix:{peer.runtime}" for peer in peers if peer is not here}
        wait_until(lambda: {peer["peer"] for peer in here.status()["changes"]["peers"]} == expected, "the reload")

    for node in (leaves, stays):
        nodes.warm(node, data, sorted(data.frames))
    name_peers(here)
    change(nodes, here, data, "f0", "truncate")
    wait_until(lambda: here.status()["changes"]["watched"] == 0, "nothing to be watched")
    expect(has_copy(leaves, data, "f0") and has_copy(stays, data, "f0"), "who was told?")

    name_peers(here, stays)
    changed_at = change(nodes, here, data, "f1", "truncate")
    wait_for_drop(stays, data, "f1", changed_at)
    expect(has_copy(leaves, data, "f1"), "a node that is no peer was told")

    name_peers(here, stays, leaves)
    changed_at = change(nodes, here, data, "f2", "truncate")
    for node in (stays, leaves):
        wait_for_drop(node, data, "f2", changed_at)
        expect(has_copy(node, data, "f3"), "a frame that nobody changed was dropped")
    for name in ("f0", "f1"):  # no peer got a notice of these changes
        wait_for_drop(leaves, data, name, changed_at)
