"""The output of `zazenctl run --trace`, taken apart."""
import re

from processes import expect

HEAD = re.compile(r"zazen trace: (?P<program>.+)\[(?P<pid>\d+)\]: (?P<opens>[\d,]+) opens? "
                  r"\((?P<hits>[\d,]+) hits?, (?P<misses>[\d,]+) miss(es)?\), (?P<reads>[\d,]+) reads?, "
                  r"(?P<bytes>[\d.]+ [kMG]?B)(, (?P<mapped>[\d.]+ [kMG]?B) mapped)?, "
                  r"in (?P<time>\d+\.\d{6}) s, by call site:")
OTHERS = re.compile(r"zazen trace: other files: .* reads?, .*, in \d+\.\d{6} s")
ROW = re.compile(r"  +(?P<opens>[\d,]+) +(?P<hits>[\d,]+) +(?P<misses>[\d,]+) +(?P<reads>[\d,]+)"
                 r" +(?P<bytes>[\d.]+ [kMG]?B)( +(?P<mapped>[\d.]+ [kMG]?B))?"
                 r" +(?P<closes>[\d,]+) +(?P<time>\d+\.\d{6}) s  (?P<site>.+)")
COUNTS = ("opens", "hits", "misses", "reads", "closes")


def figures(match):
    found = match.groupdict()
    for name in COUNTS:
        if found.get(name) is not None:
            found[name] = int(found[name].replace(",", ""))
    return found


class Trace:
    """The head line's figures, and the rows by their call sites."""

    def __init__(self, head):
        self.head = figures(head)
        self.rows = {}

    def sum(self, name):
        return sum(row[name] for row in self.rows.values())


def traces_in(text):
    """Every trace in the text, in the order in which they were printed."""
    found = []
    for line in text.splitlines():
        if head := HEAD.fullmatch(line):
            found.append(Trace(head))
        elif row := ROW.fullmatch(line):
            expect(row["site"] not in found[-1].rows, f"a call site twice: {text}")
            found[-1].rows[row["site"]] = figures(row)
        else:
            expect(OTHERS.fullmatch(line) or line.split()[:2] == ["OPENS", "HITS"],
                   f"not a trace's line: {line!r} in {text}")
    return found


def trace_in(text):
    found = traces_in(text)
    expect(len(found) == 1, f"one trace: {text}")
    return found[0]
