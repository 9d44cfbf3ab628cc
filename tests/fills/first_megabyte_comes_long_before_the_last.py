"""A program that reads the first megabyte of a large frame gets it when the server has sent little
more."""
import sys

from origin_server import MB, OriginServer
from processes import expect

LONG = "--long" in sys.argv
SIZE = 1024 * MB if LONG else 64 * MB

with OriginServer(rate=32 * MB) as server:
    server.write("f1", SIZE)
    server.start_node()
    server.read("f1", end=MB).succeeded()
    sent = server.sent("f1")
    expect(MB <= sent < SIZE / 4, f"{sent / MB:.0f} MB were sent before the reader had its first")
    expect(not server.copies(), "the fill goes on")
    server.wait_for_copy("f1", 300 if LONG else 60)
    server.check_copy("f1")
    sent = server.sent("f1")
    expect(sent <= 1.1 * SIZE, f"the server sent {sent / SIZE:.2f} times the file")
