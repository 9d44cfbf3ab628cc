"""Reads two datasets over and over, frame by frame, until the file OUT/stop exists. Prints how
often it opened a frame of each, and the reads that differed from the first one, with their
content."""
import json
import os
import sys
import zlib

first, second, out = sys.argv[1:]
opens = {first: 0, second: 0}
changed = 0
sums = {}
while not os.path.exists(f"{out}/stop"):
    for path in (first, second):
        for name in os.listdir(path):
            with open(f"{path}/{name}", "rb") as file:
                data = file.read()
            opens[path] += 1
            found = (len(data), zlib.adler32(data))
            changed += sums.setdefault(f"{path}/{name}", found) != found
    if not os.path.exists(f"{out}/started"):
        open(f"{out}/started", "w").close()
print(json.dumps({"opens": opens, "changed": changed, "sums": sums}))
