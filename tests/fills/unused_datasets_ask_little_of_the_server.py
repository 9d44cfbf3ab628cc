#!/usr/bin/env python3
"""A dataset that a job does not read costs the file server one request for its directory, for any
number of ranks on the node."""
import os

from origin_server import OriginServer
from processes import expect, wait_until

UNUSED = 8
FRAMES = 8


class Directory:
    """A dataset in a directory of the server's."""
    template, keys = "f{seq}", ""

    def __init__(self, server, name):
        self.name = name
        self.path = server.file(name)
        backing = os.path.join(server.backing, name)
        os.mkdir(backing)
        for i in range(FRAMES):
            server.write(os.path.join(name, f"f{i}"), 4096)
        os.utime(backing, (10**9, 10**9))


def requests_of(server, datasets, action):
    """How many requests about each dataset it makes."""
    before = [server.asked_below(data.name) for data in datasets]
    action()
    return [server.asked_below(data.name) - then for data, then in zip(datasets, before)]


def run_job(server, data, ranks):
    job = server.mpirun("list_and_read_c", data, ranks).succeeded()
    expect(job.report["exactly_once"], f"the job was not divided: {job.report}")


with OriginServer() as server:
    used, *unused = [Directory(server, name)
                     for name in ["used", *(f"unused{i}" for i in range(UNUSED))]]
    server.mount()
    server.node.configure([used, *unused])
    server.node.start()

    kept = [f"{server.node.cache}{data.path}/.zazen/listing" for data in [used, *unused]]

    def listings_are_kept():
        run_job(server, used, 2)  # lists what the node does not keep; young directories are not kept
        return all(os.path.exists(path) for path in kept)
    wait_until(listings_are_kept, "the kept listings")

    look, *_ = requests_of(server, unused, lambda: os.stat(unused[0].path + "/."))
    expect(look > 0, "the server does not count")
    for ranks in (1, 4, 8):
        asked = requests_of(server, unused, lambda: run_job(server, used, ranks))
        expect(max(asked) <= look, f"{ranks} ranks made {asked} requests, a look makes {look}")
