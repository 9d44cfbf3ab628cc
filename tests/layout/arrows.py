"""The allowed arrows between the folders hold, for includes and for libraries that are linked.

docs/architecture.md says what each folder is. An include of another folder's header or a
target_link_libraries() of another folder's target is an arrow. An arrow that is not in ALLOWED
fails, and so does a circle in ALLOWED. The test also proves to itself that it would see a wrong
arrow.
"""
import os
import pathlib
import re
import sys

# For each folder of sources, what it may use besides itself: a folder, "folder/" for all that is
# below it as well, or one header.
SHARED = ["bodhi/lean/", "bodhi/common", "bodhi/http", "bodhi/node", "bodhi/config", "bodhi/push"]
ALLOWED = {
    "bodhi": ["bodhi/lean/"],
    "bodhi/lean": [],
    "bodhi/lean/system": [],
    "bodhi/lean/frames": ["bodhi/lean/system"],
    "bodhi/lean/requests": ["bodhi/lean/frames", "bodhi/lean/system"],
    "bodhi/lean/run": ["bodhi/lean/frames", "bodhi/lean/system"],
    "bodhi/common": ["bodhi/lean/"],
    "bodhi/http": ["bodhi/common"],
    "bodhi/node": ["bodhi/common", "bodhi/lean/"],
    "bodhi/config": ["bodhi/http", "bodhi/node", "bodhi/common", "bodhi/lean/"],
    "bodhi/push": ["bodhi/config", "bodhi/node", "bodhi/common", "bodhi/lean/"],
    "bodhi/writer": [*SHARED],
    "bodhi/library": ["bodhi", "bodhi/writer", *SHARED],

    "coord": ["coord/sets", "bodhi", "bodhi/lean/", "bodhi/common"],
    "coord/sets": ["bodhi/node", "bodhi/common"],
    "coord/ranks": ["coord/settings.h", "coord/sets", *SHARED],
    "coord/protocol": ["coord/settings.h", "coord/ranks", "coord/sets", *SHARED],
    "coord/job": ["coord/settings.h", "coord/plugin.h", "coord/protocol", "coord/ranks",
                  "coord/sets", *SHARED],
    "coord/audit": ["coord/job", "coord/ranks", *SHARED],
    "coord/mpi": ["coord/plugin.h", "coord/zazen.h", "coord/audit", "coord/job", "coord/ranks",
                  "coord/sets", "bodhi/library", *SHARED],
    "coord/mpich": ["coord/mpi"],
    "coord/openmpi": ["coord/mpi"],

    "daemon": ["daemon/service", "daemon/pool", "daemon/origin", "daemon/process", "daemon/worker",
               "bodhi", *SHARED],
    "daemon/process": ["bodhi/lean/", "bodhi/common"],
    "daemon/threads": ["daemon/process", "bodhi/lean/", "bodhi/common"],
    "daemon/origin": ["daemon/process", *SHARED],
    "daemon/disk": ["daemon/process", *SHARED],
    "daemon/capacity": ["daemon/disk", "daemon/process", *SHARED],
    "daemon/store": ["daemon/capacity", "daemon/disk", "daemon/origin", "daemon/threads",
                     "daemon/process", *SHARED],
    "daemon/validation": ["daemon/store", "daemon/origin", "daemon/threads", "daemon/process",
                          *SHARED],
    "daemon/link": ["daemon/origin", *SHARED],
    "daemon/pool": ["daemon/link", "daemon/threads", "daemon/process", *SHARED],
    "daemon/changes": ["daemon/link", "daemon/validation", "daemon/store", "daemon/process",
                       *SHARED],
    # zazend touches no origin: that is the worker's (D23).
    "daemon/service": ["daemon/changes", "daemon/pool", "daemon/link", "daemon/validation",
                       "daemon/store", "daemon/disk", "daemon/origin", "daemon/threads",
                       "daemon/process", *SHARED],
    "daemon/worker": ["daemon/worker/", "daemon/process", *SHARED],
    "daemon/worker/cache": ["daemon/link", "daemon/process", *SHARED],
    "daemon/worker/origins": ["daemon/worker/cache", "daemon/origin", "daemon/threads",
                              "daemon/process", *SHARED],
    "daemon/worker/fills": ["daemon/worker/origins", "daemon/worker/cache", "daemon/disk/copy_seal.h",
                            "daemon/origin", "daemon/threads", "daemon/process", *SHARED],
    "daemon/worker/changes": ["daemon/worker/origins", "daemon/link", "daemon/threads",
                              "daemon/process", *SHARED],
    "daemon/worker/push": ["daemon/worker/origins", "daemon/worker/cache", "daemon/link",
                           "daemon/process", "bodhi/writer", *SHARED],
    "daemon/worker/clients": ["daemon/worker/fills", "daemon/worker/changes", "daemon/worker/push",
                              "daemon/worker/origins", "daemon/worker/cache", "daemon/link",
                              "daemon/threads", "daemon/process", *SHARED],

    # The shim is a guest in other people's programs: of bodhi it has the lean part only.
    "preload": ["preload/frames", "preload/process", "preload/calls", "bodhi/lean/"],
    "preload/calls": ["bodhi/lean/"],
    "preload/process": ["preload/calls", "coord/plugin.h", "bodhi/lean/"],
    "preload/frames": ["preload/process", "preload/calls", "bodhi/lean/"],
    "preload/listings": ["preload/frames", "preload/process", "preload/calls", "bodhi/lean/"],
    "preload/hooks": ["preload/listings", "preload/frames", "preload/process", "preload/calls",
                      "bodhi/lean/"],
    "preload/trace": ["preload/calls", "bodhi/lean/"],

    "tools": ["tools/serve", "tools/commands", "tools/cluster", "tools/support", "coord", "bodhi", *SHARED],
    "tools/support": [*SHARED],
    "tools/cluster": ["tools/support", *SHARED],
    "tools/web": ["tools/support", *SHARED],
    "tools/doctor": ["tools/support", "coord/plugin.h", *SHARED],
    "tools/commands": ["tools/cluster", "tools/doctor", "tools/web", "tools/support", "coord/settings.h",
                       "coord/audit", "bodhi/writer", *SHARED],
    "tools/serve": ["tools/commands", "tools/cluster", "tools/web", "tools/support", *SHARED],
    "tools/example": [],
    "tools/bench": ["tools/bench/", "coord", "bodhi", *SHARED],
    "tools/bench/support": ["bodhi/writer", *SHARED],
    "tools/bench/protocol": ["tools/bench/support", "coord/mpi", "coord/protocol", "coord/ranks",
                             "coord/sets", *SHARED],
    "tools/bench/benchmarks": ["tools/bench/support", "coord/job", "bodhi/writer", *SHARED],
}
SOURCE_SUFFIXES = {".h", ".cc", ".c", ".f90"}


def may_use(folder, target):
    """May files of the folder use the target, a header or (of a library) a folder?"""
    place = target if target in ALLOWED else os.path.dirname(target)
    return place == folder or any(
        one in (target, place) or one.endswith("/") and f"{place}/".startswith(one)
        for one in ALLOWED[folder])


def circles(allowed):
    """Folders that reach themselves. One header of a folder counts as a place of its own."""
    arrows = {folder: {other for other in allowed for one in ones
                       if other == one or one.endswith("/") and other.startswith(one)} - {folder}
              for folder, ones in allowed.items()}
    found = []
    for start in allowed:
        reached, waiting = set(), list(arrows[start])
        while waiting:
            folder = waiting.pop()
            if folder not in reached:
                reached.add(folder)
                waiting += arrows[folder]
        if start in reached:
            found.append(start)
    return found


def include_arrows(text):
    """Headers named by #include "folder/..." lines; a bare "x.h" would hide its folder."""
    return [(target, f'include "{target}"')
            for target in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M)]


def strip_cmake_comments(text):
    return re.sub(r"#.*", "", text)


def defined_targets(text):
    names = re.findall(r"add_(?:library|executable)\(\s*(?:\$\{name\}|([\w-]+))", text)
    for words in re.findall(r"^\s*add_(?:bodhi|coord|plugin)\(([^)]*)\)", text, re.M):
        names += re.findall(r"[\w-]+", words)  # the folders' own come first in ALLOWED
    return [name for name in names if name]


def linked_targets(text):
    for body in re.findall(r"target_link_libraries\(([^)]*)\)", text):
        yield from body.split()[1:]


def wrong_arrows(root):
    owner, wrong = {}, []
    for folder in ALLOWED:
        cmake = root / folder / "CMakeLists.txt"
        if cmake.is_file():
            for name in defined_targets(strip_cmake_comments(cmake.read_text())):
                owner.setdefault(name, folder)
    for component in sorted({folder.split("/")[0] for folder in ALLOWED}):
        for path in sorted((root / component).rglob("*")):
            folder = str(path.parent.relative_to(root))
            if path.suffix in SOURCE_SUFFIXES:
                arrows = include_arrows(path.read_text(errors="replace"))
            elif path.name == "CMakeLists.txt":
                text = strip_cmake_comments(path.read_text())
                arrows = [(owner[t], f"links {t}") for t in linked_targets(text) if t in owner]
            else:
                continue
            if folder not in ALLOWED:
                wrong.append(f"{path.relative_to(root)}: {folder} is not in ALLOWED")
                continue
            wrong += [f"{path.relative_to(root)}: {folder} -> {target} ({how})"
                      for target, how in arrows if not may_use(folder, target)]
    return wrong, owner


def prove_that_it_sees():
    assert include_arrows('#include "daemon/store/store.h"\n') == [
        ("daemon/store/store.h", 'include "daemon/store/store.h"')
    ]
    assert may_use("daemon/changes", "daemon/store/store.h")
    assert not may_use("bodhi/node", "daemon/store/store.h")
    assert not may_use("daemon/store", "store.h")
    assert not may_use("daemon/service", "daemon/worker/origins/origin.h")
    assert may_use("preload/hooks", "bodhi/lean/frames/table.h")
    assert not may_use("preload/hooks", "bodhi/node/client.h")
    assert not may_use("preload/hooks", "bodhi/bodhi.h")
    assert may_use("preload", "bodhi/lean") and not may_use("preload", "bodhi")
    assert may_use("preload/process", "coord/plugin.h")
    assert not may_use("preload/process", "coord/settings.h")
    assert circles({"a": ["b"], "b": ["c/"], "c/d": ["a"], "e": ["a"]}) == ["a", "b", "c/d"]
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
    assert owner["bodhi_lean"] == "bodhi/lean", owner
    wrong += [f"ALLOWED has a circle through {folder}" for folder in circles(ALLOWED)]
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
