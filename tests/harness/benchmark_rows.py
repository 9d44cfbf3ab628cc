"""Runs a benchmark briefly. Its output must have each figure that its table in docs/performance.md shows.

usage: benchmark_rows.py PAGE[,PAGE...] [NAME=NUMBER...] -- COMMAND...

A PAGE is a file of docs/measurements. A figure is a number; a time or a ratio is above 0, except a
difference of two times; a median ratio lies in its range. NAME=NUMBER is a count that must be exact.
"""
import json
import math
import pathlib
import subprocess
import sys

MEASUREMENTS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "measurements"
sys.path.insert(0, str(MEASUREMENTS))
import tables  # noqa: E402

DIFFERENCES = {"more_seconds", "exec_added_us", "added_seconds", "cpu_seconds", "worker_start_ms"}


def wrong_figure(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return True
    is_above_0 = name.endswith("_seconds") or "ratio" in name or "_to_" in name
    return name not in DIFFERENCES and (value <= 0 if is_above_0 else value < 0)


def complaints(benchmark, output):
    columns = [column["key"] for column in benchmark.get("columns", [])]
    for row in benchmark["rows"]:
        found = tables.select(output, row.get("in"))
        if "left_out" in found:  # a program that is not installed here
            continue
        own = row.get("key", benchmark.get("key"))
        for key in [own] + ([] if "key" in row else columns):
            if wrong_figure(key, found.get(key)):
                yield f"{row['row']}: {key} is {found.get(key)}"
        if "lowest_ratio" in found:
            median = next(found[key] for key in ("ratio", "ratio_to_plain") if key in found)
            if not found["lowest_ratio"] <= median <= found["highest_ratio"]:
                yield f"{row['row']}: {median} is not in its range"


def main():
    end = sys.argv.index("--")
    pages, *counts = sys.argv[1:end]
    done = subprocess.run(sys.argv[end + 1:], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return f"exit status {done.returncode}"
    output = json.loads(done.stdout)
    wrong = [f"{count}: it is {output.get(count.split('=')[0])}" for count in counts
             if str(output.get(count.split("=")[0])) != count.split("=")[1]]
    for page in pages.split(","):
        wrong += complaints(json.loads((MEASUREMENTS / f"{page}.json").read_text()), output)
    return "\n".join(wrong) or 0


sys.exit(main())
