"""The daemon's messages, written by hand: what a hostile client would send.

MESSAGES is the table of bodhi/lean/requests/messages.h, as tests/hostile/messages_json prints it. Each type is also a
name of this module: FILL, PUSH, ... A test that means "every message" walks the table.
"""
import enum
import json
import os
import struct
import subprocess
import types

from nodes import BUILD

_printed = json.loads(subprocess.run([f"{BUILD}/tests/hostile/messages_json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
MAGIC, VERSION, LARGEST = (_printed[key] for key in ("magic", "version", "largest"))
MESSAGES = [types.SimpleNamespace(**row) for row in _printed["messages"]]
REQUESTS = [row for row in MESSAGES if row.sender != "daemon"]
Type = enum.IntEnum("Type", {row.name.upper(): row.type for row in MESSAGES})
globals().update(Type.__members__)

HEADER = struct.Struct("<IHHIIQiI")  # magic, version, type, length, flags, request, status, 0
WAIT, FOUND_STALE, NOT_YET_OPENED, OPEN_FOR_WRITING = 1, 2, 4, 8
ALIENS = 2  # of an EvictBody


def packet(kind, body=b"", flags=WAIT, request=1):
    return HEADER.pack(MAGIC, VERSION, kind, len(body), flags, request, 0, 0) + body


def frame_packet(kind, dataset, name=b"", flags=WAIT, request=1):
    dataset, name = os.fsencode(dataset), os.fsencode(name)
    body = struct.pack("<HH", len(dataset), len(name)) + dataset + name
    return packet(kind, body, flags, request)


def example(row, dataset, name, flags=WAIT):
    """A well-formed message of the row."""
    path = os.fsencode(dataset)
    if row.body in ("frame", "dataset", "dataset_or_all"):
        return frame_packet(row.type, path, name if row.body == "frame" else b"", flags)
    return packet(row.type, {
        "none": b"",
        "range": struct.pack("<QQII", 0, 2**64 - 1, 0, len(path)) + path,
        "selection": struct.pack("<QQII", 0, 2**64 - 1, ALIENS, len(path)) + path,
        "verify": struct.pack("<QQII", 0, 2**64 - 1, len(path), 0) + path,
        "notice": b"no notice",
        "new_dataset": struct.pack("<HH", len(path), 6) + path + b"f{seq}",
    }[row.body], flags)


def names_dataset(row):
    return row.body not in ("none", "notice", "new_dataset", "any")
