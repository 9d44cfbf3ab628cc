"""If a program reads the headers of large frames, the server sends hardly more than these. A frame
that is read whole is copied soon, and the others when programs have been idle for long."""
from origin_server import MB, OriginServer
from processes import expect, wait_until

FRAMES, SIZE, HEADER = 6, 16 * MB, 4096
READ_AHEAD = 256 << 10  # at most, by the kernel

with OriginServer(rate=200 * MB) as server:
    headers = [f"f{seq}" for seq in range(FRAMES)]
    for name in [*headers, "f100"]:
        server.write(name, SIZE)
    server.start_node()
    for name in headers:
        server.read(name, end=HEADER).succeeded()
    server.read("f100").succeeded()
    server.wait_for_copy("f100")
    sent = sum(server.sent(name) for name in headers)
    expect(server.copies() == {"f100"}, f"copies: {server.copies()}")
    expect(sent <= FRAMES * READ_AHEAD, f"the server sent {sent} bytes for {FRAMES * HEADER}")

    # One that is missed again, and read further, is looked at again.
    server.read("f0").succeeded()
    server.wait_for_copy("f0")
    sent = sum(server.sent(name) for name in headers[1:])
    expect(server.copies() == {"f0", "f100"}, f"copies: {server.copies()}")
    expect(sent <= FRAMES * READ_AHEAD, f"the server sent {sent} bytes for {FRAMES * HEADER}")

    wait_until(lambda: len(server.copies()) == FRAMES + 1, "the rest of the frames", 90)
    for name in headers:
        server.check_copy(name)
        expect(server.sent(name) <= 1.1 * SIZE, f"{name}: {server.sent(name)} bytes")
