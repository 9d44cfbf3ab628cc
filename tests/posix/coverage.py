"""docs/coverage.md names every symbol that libzazen.so exports, and the test that it names for a
symbol calls it: `coverage.py REPOSITORY`."""
import pathlib
import re
import subprocess
import sys

from node import PROGRAMS, expect

REPOSITORY = pathlib.Path(sys.argv[1])
TESTS = REPOSITORY / "tests"


def rows():
    text = (REPOSITORY / "docs" / "coverage.md").read_text()
    table = text.partition("## Hooked")[2].partition("\n## ")[0]
    for line in table.splitlines():
        if line.startswith("| `"):
            symbols, _, tests = (re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:4])
            yield symbols, tests


def called_by(program):
    lines = subprocess.run(["nm", "-D", "--undefined-only", PROGRAMS / program], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


exported = set((REPOSITORY / "preload" / "exports.txt").read_text().split())
covered = [symbol for symbols, _ in rows() for symbol in symbols]
expect(sorted(covered) == sorted(exported),
       f"not in docs/coverage.md: {sorted(exported - set(covered))}, there but not exported, or "
       f"twice: {sorted(s for s in covered if s not in exported or covered.count(s) > 1)}")
for symbols, tests in rows():
    expect(tests and all(any(TESTS.rglob(test)) for test in tests), f"{tests}: no such test")
    programs = [test.removesuffix(".c") for test in tests if test.endswith(".c")]
    called = set().union(*(called_by(program) for program in programs))
    missing = [symbol for symbol in symbols if symbol not in called]
    expect(not programs or not missing, f"{tests} does not call {missing}")
