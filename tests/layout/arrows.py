"""The allowed arrows between the folders hold, for includes and for libraries that are linked.

docs/architecture.md has the picture. An include of another folder's header or a
target_link_libraries() of another folder's target is an arrow; what is not in ALLOWED fails.
The test also proves to itself that it would see a wrong arrow.
"""
import pathlib
import re
import sys

ALLOWED = {
    "bodhi": set(),
    "daemon": {"bodhi"},
    "coord": {"bodhi"},
    "preload": {"coord", "bodhi"},
    "tools": {"coord", "bodhi"},
}
SOURCE_SUFFIXES = {".h", ".cc", ".c", ".f90"}


def include_arrows(text):
    """Folders named by #include "folder/..." lines; a bare "x.h" would hide its folder."""
    found = []
    for target in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
        folder = target.split("/")[0] if "/" in target else f"(no folder in {target})"
        found.append((folder, f'include "{target}"'))
    return found


def strip_cmake_comments(text):
    return re.sub(r"#.*", "", text)


def defined_targets(text):
    return re.findall(r"add_(?:library|executable)\(\s*(?:\$\{name\}|([\w-]+))", text)


def linked_targets(text):
    for body in re.findall(r"target_link_libraries\(([^)]*)\)", text):
        yield from body.split()[1:]


def wrong_arrows(root):
    owner = {}
    for folder in ALLOWED:
        for cmake in (root / folder).rglob("CMakeLists.txt"):
            text = strip_cmake_comments(cmake.read_text())
            names = [n for n in defined_targets(text) if n]
            for words in re.findall(r"^\s*add_(?:bodhi|coord|plugin)\(([^)]*)\)", text, re.M):
                names += re.findall(r"[\w-]+", words)  # the folders' own come first in ALLOWED
            for name in names:
                owner.setdefault(name, folder)

    wrong = []
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES:
                arrows = include_arrows(path.read_text(errors="replace"))
            elif path.name == "CMakeLists.txt":
                text = strip_cmake_comments(path.read_text())
                arrows = [(owner[t], f"links {t}") for t in linked_targets(text) if t in owner]
            else:
                continue
            for target, how in arrows:
                if target != folder and target not in allowed:
                    wrong.append(f"{path.relative_to(root)}: {folder} -> {target} ({how})")
    return wrong, owner


def prove_that_it_sees():
    assert include_arrows('#include "daemon/store.h"\n') == [
        ("daemon", 'include "daemon/store.h"')
    ]
    assert include_arrows('#include "store.h"\n')[0][0] not in ALLOWED
    assert list(linked_targets("target_link_libraries(x PRIVATE zazend_store)")) == [
        "PRIVATE",
        "zazend_store",
    ]


def main():
    prove_that_it_sees()
    root = pathlib.Path(sys.argv[1])
    for folder in ALLOWED:
        assert (root / folder).is_dir(), f"{folder}/ is missing"
    wrong, owner = wrong_arrows(root)
    assert {"bodhi", "bodhi_lean", "bodhi_push", "zazen_coord", "zazen", "zazend", "zazenctl"} <= owner.keys(), owner
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
