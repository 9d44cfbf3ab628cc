"""No folder has more than MOST files. Generated data (the fuzzers' corpus) is left out.

The test also proves to itself that it would see a folder that is too large.
"""
import collections
import os
import pathlib
import subprocess
import sys

MOST = 40
DATA = "tests/fuzz/corpus/"


def too_large(names):
    """[(folder, count)] of the folders with more than MOST of these files."""
    counts = collections.Counter(os.path.dirname(name) for name in names
                                 if not name.startswith(DATA))
    return sorted((folder, count) for folder, count in counts.items() if count > MOST)


def files_of(root):
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    if tracked.returncode == 0:
        return [name for name in tracked.stdout.decode().split("\0") if name]
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return [str(path) for path in paths if path.parts[0] != "build"]  # an unpacked archive


def main():
    many = [f"a/{number}.cc" for number in range(MOST + 1)]
    assert too_large(many) == [("a", MOST + 1)] and too_large(many[1:]) == []
    assert too_large([DATA + name for name in many]) == []

    names = files_of(pathlib.Path(sys.argv[1]))
    assert "CMakeLists.txt" in names and "bodhi/bodhi.h" in names, "are the files read?"
    found = too_large(names)
    for folder, count in found:
        print(f"{folder}: {count} files, at most {MOST} are allowed")
    return 1 if found else 0


sys.exit(main())
