"""The lines that end a job under `zazenctl run`, taken apart."""
import re

from nodes import ZAZENCTL
from processes import expect, run

LINE = re.compile(
    r"zazen: (?:(?P<ranks>\d+) ranks(?: on (?P<nodes>\d+) nodes)?: )?(?P<least>at least )?"
    r"(?P<frames>[\d,]+) frames?(?: \((?P<opens>[\d,]+) opens?\))?, (?P<bytes>[\d.,]+ \w+) in "
    r"(?P<time>[\d.]+ s), (?P<share>all from the origin|(?:all|\d+%) from (?:this node's disk|the "
    r"nodes' disks))(?:; (?P<before>[\d.]+ s) (?P<when>before|when .* was cached))?\n")


def number(text):
    return int(text.replace(",", ""))


def summary_of(done):
    """The figures of the one summary on standard error, which fits in 80 columns."""
    expect(all(len(line) <= 80 for line in done.stderr.splitlines()), f"80 columns: {done}")
    match = LINE.fullmatch(done.stderr.replace("\nzazen: ", " "))
    expect(match, f"one summary was expected: {done}")
    found = match.groupdict()
    found["frames"] = number(found["frames"])
    found["opens"] = number(found["opens"]) if found["opens"] else found["frames"]
    expect(found["least"] is None, f"all frames can be counted: {done}")
    return found


def check(done, frames, opens, share, **more):
    found = summary_of(done.succeeded())
    wanted = dict(more, frames=frames, opens=opens, share=share)
    expect({key: found[key] for key in wanted} == wanted, f"{wanted} was expected: {done}")
    return found


def zazenctl_run(nodes, node, *words, before=(), **env):
    return run([*before, ZAZENCTL, "--config", node.config, "run", *words],
               dict(nodes.env, **env))
