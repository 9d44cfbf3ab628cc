"""A system that refuses memory (RLIMIT_AS) ends no daemon. A request that needs too much memory
fails with ENOMEM, or its connection is closed. Later requests succeed."""
import errno
import os
import resource

from siege import (INVALIDATE, KEEP_LISTING, STATUS, Siege, frame_packet, is_sanitized, packet)
from nodes import skip
from processes import Failure, expect, wait_until

LISTING_BYTES = 100 << 20
FLOOD = 900  # connections

if is_sanitized():
    skip("a sanitizer's run time needs the memory itself")


def limit_memory(pid, bytes_):
    hard = resource.prlimit(pid, resource.RLIMIT_AS)[1]
    resource.prlimit(pid, resource.RLIMIT_AS, (hard if bytes_ is None else bytes_, hard))


def memory_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return 1024 * int([line for line in file if line.startswith("VmSize:")][0].split()[1])


def processes_of(pid):
    """zazend, its forker and its workers."""
    found = [pid]
    for parent in found:
        with open(f"/proc/{parent}/task/{parent}/children") as file:
            found += [int(child) for child in file.read().split()]
    return found


def keep_listing(siege):
    """The status of the answer to a listing that is as long as the daemon takes."""
    listing = os.memfd_create("listing", os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(listing, LISTING_BYTES)
        return siege.ask(frame_packet(KEEP_LISTING, siege.data.path), [listing])
    finally:
        os.close(listing)


def flood(siege):
    """Many clients whose answers nobody reads: they take what memory there is."""
    clients = []
    for number in range(FLOOD):
        try:
            client = siege.connect()
        except OSError:
            continue
        clients.append(client)
        client.setblocking(False)
        name = f"f{number % 60}"
        for kind in (INVALIDATE, STATUS):
            message = packet(kind) if kind == STATUS else frame_packet(kind, siege.data.path, name)
            try:
                for _ in range(250 if kind == INVALIDATE else 2):
                    client.send(message)
            except OSError:
                pass
    return clients


# One heap for all threads, which grows only as far as the limit says.
with Siege(environment={"MALLOC_ARENA_MAX": "1"}) as siege:
    node = siege.node
    siege.guests(10)
    expect(keep_listing(siege) == errno.EINVAL, "zeros are no listing")
    pid = node.status()["pid"]
    for one in processes_of(pid):
        limit_memory(one, memory_of(one))
    expect(keep_listing(siege) == errno.ENOMEM, "there is no memory for a listing")
    for _ in range(3):
        clients = flood(siege)
        siege.program_reads_all()
        for client in clients:
            client.close()
    wait_until(lambda: "event=shortage" in node.said(), "a refusal")
    for one in processes_of(pid):
        limit_memory(one, None)
    wait_until(lambda: f'"pid":{pid},' in node.ctl("status", "--json").stdout.replace(" ", ""),
               "the same daemon serves again")

    def is_served():
        """Changes that the flood has reported, and that are dealt with only now, cancel fills."""
        try:
            siege.guests(10)
            return True
        except Failure:
            return False
    wait_until(is_served, "guests to be served")
    expect(keep_listing(siege) == errno.EINVAL, "there is memory again")
