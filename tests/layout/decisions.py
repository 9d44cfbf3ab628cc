"""Every decision that the tree refers to, such as (D10), has an entry in docs/decisions.md, with a
reason and a date.

The test also proves to itself that it would see a reference without an entry.
"""
import pathlib
import re
import subprocess
import sys

# D23, but not 0xD23, SD23 or D10b of some table.
REFERENCE = re.compile(r"(?<![\w/.-])D(\d{1,2})(?![\w-])")
ENTRY = re.compile(r"^### D(\d+)\. ", re.M)
SUFFIXES = {".h", ".cc", ".c", ".py", ".md", ".txt", ".sh", ".toml", ".f90", ".ld"}


def references(text):
    return {int(number) for number in REFERENCE.findall(text)}


def undefined(files, decisions):
    """[(file, number)] of references without an entry."""
    entries = {int(number) for number in ENTRY.findall(decisions)}
    return sorted((name, number) for name, text in files.items()
                  for number in references(text) - entries)


def incomplete(decisions):
    """Headings of entries without a reason or a date."""
    entries = re.split(r"^##+ ", decisions, flags=re.M)
    return [entry.splitlines()[0] for entry in entries if re.match(r"D\d+\. ", entry)
            and not (re.search(r"^Reason: ", entry, re.M) and re.search(r"\b20\d\d-\d\d-\d\d\b", entry))]


def tracked_files(root):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    if names.returncode == 0:
        paths = [root / name for name in names.stdout.decode().split("\0") if name]
    else:  # an unpacked archive
        paths = [path for path in root.rglob("*") if "build" not in path.parts]
    return {str(path.relative_to(root)): path.read_text(errors="replace") for path in paths
            if path.suffix in SUFFIXES and path.is_file()}


def main():
    assert undefined({"a.h": "// as in (D98), and D99."}, "### D98. Known\n") == [("a.h", 99)]
    assert references("0xD12 SD13 tests/D14 D15x D16-D17") == set()

    assert incomplete("### D1. A\nBuilt 2026-01-02.\nReason: x\n### D2. B\nReason: x\n") == ["D2. B"]

    root = pathlib.Path(sys.argv[1])
    decisions = (root / "docs/decisions.md").read_text()
    numbers = [int(number) for number in ENTRY.findall(decisions)]
    twice = {number for number in numbers if numbers.count(number) > 1}
    files = tracked_files(root)
    files.pop("tests/layout/decisions.py", None)
    found = set().union(*(references(text) for text in files.values()))
    missing = undefined(files, decisions)
    for name, number in missing:
        print(f"{name}: D{number} is not in docs/decisions.md")
    for number in twice:
        print(f"docs/decisions.md: D{number} stands there twice")
    lacking = incomplete(decisions)
    for heading in lacking:
        print(f"docs/decisions.md: no reason or no date: {heading}")
    if len(found) < 20:
        print(f"only {len(found)} decisions are referred to: are the files read?")
        return 1
    return 1 if missing or twice or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
