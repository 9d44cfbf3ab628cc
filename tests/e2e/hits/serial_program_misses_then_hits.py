"""A serial program's first read is a miss and the second a hit. Report and bytes are right."""
import json

from nodes import Nodes
from processes import expect, run

with Nodes(1) as nodes:
    data = nodes.dataset(frames=16)
    nodes.start()
    node = nodes[0]
    files = sorted(data.file(name) for name in data.frames)
    plain = run(["sha256sum", *files], nodes.env)
    for turn, hits in (("first", 0), ("second", 16)):
        report_file = nodes.path(turn)
        shown = nodes.serial(node, ["sha256sum", *files], ZAZEN_REPORT=report_file)
        expect((shown.stdout, shown.stderr) == (plain.stdout, ""), f"{turn}: {shown}")
        with open(report_file) as file:
            report = json.load(file)
        expect((report["hits"], report["misses"]) == (hits, 16 - hits), f"{turn}: {report}")
        total = data.bytes_of(data.frames)
        expect((report["bytes_local"], report["bytes_origin"])
               == ((total, 0) if hits else (0, total)), f"{turn}: {report}")
        expect(report["frames_read"] == 16 and report["ranks"] == 1, f"{turn}: {report}")
        nodes.wait_for_aliens(data, 16)
    status = node.status()
    expect((status["hits"], status["misses"]) == (16, 16), f"{status}")
