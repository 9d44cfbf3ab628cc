"""Fails if a test was skipped that tests/allowed_skips.txt does not name.

    skipped.py RESULTS.xml ALLOWED.txt

A test that skips itself where root, FUSE or a package is missing would otherwise look like a
success.
"""
import html
import re
import sys

# By letters: the output of a test may hold characters that no XML parser takes.
SKIPPED = re.compile(r'<testcase name="([^"]*)"[^>]*>\s*<skipped')


def allowed(text):
    lines = (line.split(None, 1) for line in text.splitlines() if not line.startswith("#"))
    return {words[0] for words in lines if len(words) == 2}  # a name needs a reason


def skipped(results):
    return [html.unescape(name) for name in SKIPPED.findall(results)]


def main():
    results, names = (open(path, encoding="utf-8", errors="replace").read() for path in sys.argv[1:])
    unexpected = sorted(set(skipped(results)) - allowed(names))
    for name in unexpected:
        print(f"tests/run: error: {name} was skipped, and tests/allowed_skips.txt does not name it")
    return 1 if unexpected else 0


sys.exit(main())
