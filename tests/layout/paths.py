"""The four paths of docs/architecture.md are those of the sources: `paths.py REPOSITORY`.

Each file of a table exists and has the functions of its row, and a path does not visit more files
than MOST says. A header and its source count as one file. The test also proves to itself that it
would see a function that is gone, and a path that is too long.
"""
import pathlib
import re
import sys

MOST = {"A hit": 12, "A miss": 25, "A push": 25, "A claim": 25}
REQUIRED = list(MOST)
SECTION = "The paths, file by file"
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$")
NAME = re.compile(r"`(?:\w+::)*(\w+)(?:\(\))?`")


def code_of(text):
    return re.sub(r"//.*", "", text)


def tables(page):
    """{path: [(file, functions)]} of the section."""
    section = page.partition(f"\n## {SECTION}\n")[2].partition("\n## ")[0]
    found = {}
    for part in section.split("\n### ")[1:]:
        title, _, body = part.partition("\n")
        rows = [ROW.match(line) for line in body.splitlines() if line.startswith("| `")]
        assert all(rows), f"{title}: a row is not of the form | `file` | `function`, ... |"
        found[title] = [(row[1], NAME.findall(row[2])) for row in rows]
    return found


def problems_of(path, rows, read):
    """read(file) is the text of a file, None if there is none."""
    files = {file.rpartition(".")[0] for file, _ in rows}
    if path not in MOST or not 1 < len(files) <= MOST[path]:
        yield f"{path}: {len(files)} files, {MOST.get(path)} are allowed"
    for file, functions in rows:
        text = read(file)
        if text is None:
            yield f"{path}: no file {file}"
            continue
        if not functions:
            yield f"{path}: {file}: no function"
        for name in functions:
            if not re.search(rf"\b{name}(?:<[^<>]*>)?\(", code_of(text)):
                yield f"{path}: no {name}() in {file}"


def prove_that_it_sees():
    page = ("# A\n## B\n| `x` | `y` |\n## The paths, file by file\nText.\n### A hit\n"
            "| file | functions |\n|---|---|\n| `a.h` | `One::f`, `g()` |\n| `a.cc` | `h` |\n"
            "| `b.cc` | `f` |\n## C\n")
    rows = tables(page)["A hit"]
    assert rows == [("a.h", ["f", "g"]), ("a.cc", ["h"]), ("b.cc", ["f"])], rows
    texts = {"a.h": "int f(); template <class T> g<int>(1);", "a.cc": "h();  // f()", "b.cc": "f()"}
    assert not list(problems_of("A hit", rows, texts.get))
    assert list(problems_of("A hit", [("a.cc", ["f"]), ("c.cc", ["f"]), ("b.cc", ["ff"])],
                            texts.get)) == [
        "A hit: no f() in a.cc", "A hit: no file c.cc", "A hit: no ff() in b.cc"]
    long = [(f"{number}.cc", ["f"]) for number in range(13)]
    assert list(problems_of("A hit", long, lambda _: "f()")) == [
        "A hit: 13 files, 12 are allowed"]
    assert not list(problems_of("A miss", long, lambda _: "f()"))


def main():
    prove_that_it_sees()
    root = pathlib.Path(sys.argv[1])

    def read(file):
        return (root / file).read_text() if (root / file).is_file() else None

    paths = tables((root / "docs" / "architecture.md").read_text())
    found = [f"docs/architecture.md: no section {path}" for path in REQUIRED if path not in paths]
    for path, rows in paths.items():
        found += problems_of(path, rows, read)
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
