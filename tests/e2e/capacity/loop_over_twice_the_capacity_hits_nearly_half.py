"""A loop over a dataset of twice the capacity has at least 45% hits from the second pass on."""
from nodes import Nodes
from processes import expect

FRAMES, SIZE, PASSES = 240, 1000, 6

for limit in (f'capacity = {FRAMES * SIZE // 2}\n', f"max_files = {FRAMES // 2}\n"):
    with Nodes(1) as nodes:
        data = nodes.dataset(frames=FRAMES, sizes=(SIZE,), ordinary=False)
        nodes.configure(limit)
        node = nodes[0]
        node.start()
        names = [f"f{seq}" for seq in range(FRAMES)]
        after_first = None
        for _ in range(PASSES):
            done = nodes.serial(node, ["cat", *map(data.file, names)]).succeeded()
            node.settle()
            status = node.status()
            expect(status["used_bytes"] <= FRAMES * SIZE // 2, f"over the capacity: {status}")
            expect(status["used_files"] <= FRAMES // 2, f"too many files: {status}")
            after_first = after_first or status
        hits = status["hits"] - after_first["hits"]
        opens = hits + status["misses"] - after_first["misses"]
        expect(opens == (PASSES - 1) * FRAMES, f"{opens} opens were counted")
        expect(hits >= 0.45 * opens, f"{limit}: {hits} hits of {opens} opens")
        expect(status["evictions"] > 0, "nothing moves: the cache would never follow a program")
        print(f"{limit.strip()}: {hits / opens:.1%} hits, {status['evictions']} evictions")
