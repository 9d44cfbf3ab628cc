"""With a page cache the server sends each byte once, for any number and speed of readers."""
from origin_server import MB, OriginServer
from processes import expect, wait_until

SIZE = 16 * MB
CASES = {  # frame: readers, and how each of them reads
    "f1": [{}],
    "f2": [{}] * 8,
    "f3": [dict(pause=0.02)],  # slower than the link
    "f4": [dict(pause=0.02)] * 4 + [{}] * 4,
    "f5": [dict(end=MB)],
    "f6": [dict(end=MB)] * 8,
    "f7": [dict(first=SIZE - MB)] * 2 + [dict(first=SIZE // 2, end=SIZE // 2 + MB)] * 2,
}

with OriginServer(rate=40 * MB) as server:
    for name in CASES:
        server.write(name, SIZE)
    server.start_node()
    for done, (name, readers) in enumerate(CASES.items()):
        running = [server.start_reader(name, **how) for how in readers]
        for process in running:
            shown = process.finish().succeeded().stdout
            expect(len(shown.split()) == 2, f"{name}: {shown}")
        server.wait_for_copy(name)
        server.check_copy(name)
        sent = server.sent(name)
        expect(SIZE <= sent <= 1.1 * SIZE, f"{name}: the server sent {sent / SIZE:.2f} times the file")
        wait_until(lambda: server.node.status()["fills_under_way"] == 0, "the fill's end")
        fills = server.node.status()["fills"]
        expect(fills == done + 1, f"{name}: {fills} fills")
