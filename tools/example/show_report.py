#!/usr/bin/env python3
"""Prints, for each rank, what the program itself counted and what Zazen's report says of it.

usage: show_report.py REPORT PROGRAM_OUTPUT
Exit status 1 if the two disagree, if the frames were not read exactly once, or not all from
the caches.
"""
import json
import re
import sys


def main(report_path, output_path):
    with open(report_path) as file:
        report = json.load(file)
    seen, read = {}, {}
    with open(output_path) as file:
        for rank, saw, done in re.findall(r"^rank (\d+): saw (\d+) frames, read (\d+)", file.read(), re.M):
            seen[int(rank)], read[int(rank)] = int(saw), int(done)

    agree = len(seen) == report["ranks"]
    print("  rank  node   saw  read   from the node's cache  from the origin")
    for entry in sorted(report["per_rank"], key=lambda entry: entry["rank"]):
        rank = entry["rank"]
        agree = agree and entry["reported"]
        agree = agree and (seen.get(rank), read.get(rank)) == (entry["assigned"], entry["read"])
        print(f"  {rank:4}  {entry['node']:4}  {seen.get(rank, 0):4}  {read.get(rank, 0):4}"
              f"   {entry['hits']:21}  {entry['misses']:15}")
    once = report["exactly_once"]
    print(f"  {report['frames_read']} of {report['frames_listed']} frames read, "
          f"{report['frames_read_twice']} twice, {report['frames_never_read']} never: "
          f"exactly once: {'yes' if once else 'NO'}")
    print(f"  the ranks agreed on who reads what in {report['protocol_seconds'] * 1000:.0f} ms")
    if not agree:
        print("  the program's own counts and the report DIFFER")
    cached = report["hits"] == report["frames_listed"] and report["misses"] == 0
    return 0 if agree and once and cached else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
