#!/usr/bin/python3
"""Writes docs/performance.md, and the table in README.md, from the JSON files of this folder.

  tables.py                          write both
  tables.py --check                  exit 1 if one of them is not what the JSON files say
  tables.py --enter NAME --date DATE [--load TEXT] [--label KEY=VALUE] RUN.json...
                                     replace the runs of NAME.json, and write both

A file describes one benchmark: its command, machine, date and rows. "runs" has the outputs of the
command as they are (zazen-bench --json). A row takes the object that "in" selects in each run, such
as cases[name=exec], and of it the figure "key"; "only" leaves runs out that have other values. The
table shows the median over the runs and their range; of a single run it shows the range that the
benchmark reports. --label KEY=VALUE adds a value to the runs, and replaces only runs that have it.
"""
import argparse
import difflib
import json
import pathlib
import re
import statistics
import sys
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parent / "performance.md"
README = FOLDER.parent.parent / "README.md"
MARKS = ("<!-- measured: docs/measurements/tables.py -->", "<!-- /measured -->")
INTRODUCTION = """# Performance

`docs/measurements/tables.py` makes this page from the JSON files beside it. CONTRIBUTING.md says
how to enter a measurement. Each table is one benchmark. *Range* is the lowest and the highest of
the runs or rounds; a dash means a single figure. A **bold** figure misses its goal. *Load* is the
load average of other work on the 2 cores. Claims are ratios of two things that one run measured;
repeat them on your machine.
"""
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def three_digits(value):
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,.0f}" if "e" in text else text


def show(value, unit):
    if value is None:
        return "–"
    if unit in UNITS:
        seconds = value * UNITS[unit]
        names = [("s", 1), ("ms", 1e-3), ("µs", 1e-6)]
        name, size = next((one for one in names if abs(seconds) >= one[1]), names[-1])
        return f"{three_digits(seconds / size)} {name}"
    if unit in ("B", "B/s"):
        names = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
        size, name = next((one for one in names if value >= one[0]), (1, "B"))
        return f"{three_digits(value / size)} {name}{unit[1:]}"
    if unit == "ratio":
        return f"{value:.2f}" if value < 10 else three_digits(value)
    return f"{three_digits(value)}{' ' + unit if unit else ''}"


def select(run, path):
    """cases[name=exec] of a run: the object that has these values; None if the run has none."""
    for name, conditions in re.findall(r"(\w+)(?:\[([^]]*)\])?", path or ""):
        run = run.get(name)
        if conditions and run is not None:
            wanted = dict(one.split("=") for one in conditions.split(","))
            run = next((one for one in run
                        if all(str(one.get(key)) == value for key, value in wanted.items())), None)
        if run is None:
            return {}
    return run


def has(run, values):
    return all(run.get(key) == value for key, value in values.items())


def figures(runs, row, key):
    values = [select(run, row.get("in")).get(key) for run in runs if has(run, row.get("only", {}))]
    return [value for value in values if value is not None]


def value_range(runs, row, key):
    values = figures(runs, row, key)
    if len(values) > 1:
        return min(values), max(values)
    for low, high in ((f"lowest_{key}", f"highest_{key}"), ("lowest_ratio", "highest_ratio")):
        found = figures(runs, row, low) + figures(runs, row, high)
        if len(found) == 2 and (low != "lowest_ratio" or "ratio" in key):
            return found
    return None


def table(benchmark):
    runs = benchmark["runs"]
    columns = benchmark.get("columns", [])
    lines = [["", *(column["title"] for column in columns), benchmark["measured"], "range", "goal"]]
    for row in benchmark["rows"]:
        key, unit = row.get("key", benchmark.get("key")), row.get("unit", benchmark.get("unit"))
        values = figures(runs, row, key)
        if not values:
            raise SystemExit(f"{benchmark['title']}: no run has {row.get('in', '')} {key}")
        median, ends = statistics.median(values), value_range(runs, row, key)
        shown, goal = show(median, unit), row.get("goal")
        if goal:
            missed = median > goal["most"] if "most" in goal else median < goal["least"]
            shown = f"**{shown}**" if missed else shown
            goal = " ".join(f"at {word} {show(wanted, unit)}" for word, wanted in goal.items())
        own_figure = "key" in row and "key" in benchmark  # the columns are not about this row
        beside = [[] if own_figure else figures(runs, row, column["key"]) for column in columns]
        lines.append([row["row"],
                      *(show(statistics.median(found) if found else None, column["unit"])
                        for found, column in zip(beside, columns)),
                      shown, " to ".join(show(end, unit) for end in ends) if ends else "–",
                      goal or ""])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def benchmarks():
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        benchmark = json.loads(path.read_text())
        if "runs_file" in benchmark:  # one object a line, as tests/simulation/simulate --save writes
            lines = (FOLDER / benchmark["runs_file"]).read_text().splitlines()
            benchmark["runs"] = [json.loads(line) for line in lines]
        found.append(benchmark)
    return found


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def page():
    all_of_them = benchmarks()
    contents = [f"[{one['title']}](#{anchor(one['title'])})" for one in all_of_them]
    parts = [INTRODUCTION, " ·\n".join(contents) + "\n"]
    for one in all_of_them:
        parts += [f"## {one['title']}\n", textwrap.fill(one["about"], 116) + "\n",
                  f"`{one['command']}`\n\n{one['date']} · {one['machine']} · load: {one['load']}\n",
                  table(one) + "\n"]
        parts += [one["picture"] + "\n"] if "picture" in one else []
    return "\n".join(parts)


def readme():
    text = README.read_text()
    for_readme = [dict(one, rows=[row for row in one["rows"] if row.get("readme")])
                  for one in benchmarks()]
    tables = [f"`{one['command']}`, {one['date']}, {one['machine']}\n\n{table(one)}"
              for one in for_readme if one["rows"]]
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return "".join([before, MARKS[0], "\n", "\n\n".join(tables), "\n", MARKS[1], after])


def enter(options):
    path = FOLDER / f"{options.enter}.json"
    benchmark = json.loads(path.read_text())
    label = dict([options.label.split("=")] if options.label else [])
    kept = [run for run in benchmark["runs"] if label and not has(run, label)]
    new = [json.loads(pathlib.Path(run).read_text()) | label for run in options.runs]
    benchmark["runs"] = kept + new
    benchmark["date"] = options.date
    benchmark["load"] = options.load
    path.write_text(json.dumps(benchmark, indent=1, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--enter", metavar="NAME")
    parser.add_argument("--date")
    parser.add_argument("--load", default="idle")
    parser.add_argument("--label", metavar="KEY=VALUE")
    parser.add_argument("runs", nargs="*")
    options = parser.parse_args()
    if options.enter:
        if not options.date or not options.runs:
            parser.error("--enter needs --date and the outputs of the runs")
        enter(options)
    wrong = 0
    for path, wanted in ((PAGE, page()), (README, readme())):
        if options.check:
            found = path.read_text()
            wrong += found != wanted
            sys.stdout.writelines(difflib.unified_diff(
                found.splitlines(True), wanted.splitlines(True), path.name, "the JSON files say"))
        else:
            path.write_text(wanted)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
