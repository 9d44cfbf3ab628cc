"""The linters have nothing to say about this tree.

usage: linters.py SOURCE_TREE shell | python | types | format
       linters.py SOURCE_TREE tidy-headers [INCLUDE_DIRECTORY...]
       linters.py SOURCE_TREE tidy BUILD_TREE

`tidy` takes seconds for each source. A source that was clean is not looked at again until it, a header
that it includes, its command or the checks change.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LONGEST_LINE = 120  # of Python; clang-format knows that of C++
FOR_CLANG = ["--extra-arg=-D__NO_INLINE__"]  # or else libc defines getline(), which the shim hooks
CHECKED = "bodhi", "coord", "daemon", "preload", "tools"


def files(root):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=root, capture_output=True, check=False)
    if names.returncode == 0:
        found = [root / name for name in names.stdout.decode().split("\0") if name]
    else:  # an unpacked archive
        found = [path for path in root.rglob("*") if "build" not in path.parts]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def scripts(root, suffix, interpreters):
    for path in files(root):
        first = path.open("rb").readline() if path.suffix in ("", suffix) else b""
        words = first.decode(errors="replace").split()
        if path.suffix == suffix or (first.startswith(b"#!") and words and
                                     pathlib.Path(words[-1]).name in interpreters):
            yield str(path)


def headers(root, folder):
    """Those of C++: a header for C says what differs in C++."""
    return [path.relative_to(root) for path in files(root)
            if path.suffix == ".h" and path.relative_to(root).parts[0] == folder and
            "__cplusplus" not in path.read_text()]


def run(command, root):
    """Its exit status; what it says is shown, but for its statistics."""
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    noise = re.compile(r"\d+ warnings? (and \d+ errors? )?generated|Suppressed|Use -header-filter|"
                       r"\d+ warnings treated as errors")
    told = [line for line in (done.stdout + done.stderr).splitlines() if not noise.match(line)]
    if done.returncode != 0:
        print("\n".join(told))
    return done.returncode


def shell(root):
    return run(["shellcheck", *scripts(root, ".sh", {"sh", "bash", "dash"})], root)


def python(root):
    return run(["flake8", f"--max-line-length={LONGEST_LINE}",
                *scripts(root, ".py", {"python3"})], root)


def types(root):
    """The annotations of the Python package, for the oldest Python that it is for."""
    return run(["mypy", "--strict", "--python-version", "3.9", "--cache-dir", os.devnull, "python/zazen"], root)


def clang_format(root):
    paths = [str(path) for path in files(root) if path.suffix in (".h", ".cc", ".c")]
    return run(["clang-format", "--dry-run", "--Werror", *paths], root)


def tidy_headers(root, includes):
    """The headers of each folder as one source: programs use a name for different things."""
    failed = 0
    for folder in CHECKED:
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
            source.write("".join(f'#include "{path}"\n' for path in headers(root, folder)))
            source.flush()
            failed |= run(["clang-tidy", "--quiet", f"--config-file={root}/.clang-tidy", source.name,
                           "--", "-std=c++20", "-D_GNU_SOURCE", "-DOMPI_SKIP_MPICXX", f"-I{root}",
                           *(f"-isystem{path}" for path in includes)], root)
    return failed


def closure(root, source):
    """The source and the headers of this tree that it includes."""
    found, left = set(), [source]
    while left:
        path = left.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.M):
            left += [root / name, path.parent / name]
    return sorted(found)


def tidy(root, build):
    clean = build / "lint"
    clean.mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    version += (root / ".clang-tidy").read_bytes()

    def check(entry):
        source = pathlib.Path(entry["file"])
        key = hashlib.sha256(version + entry["command"].encode())
        for path in closure(root, source):
            key.update(path.read_bytes())
        mark = clean / key.hexdigest()
        if mark.exists():
            return 0
        status = run(["clang-tidy", "--quiet", "-p", str(build), *FOR_CLANG, str(source)], root)
        if status == 0:
            mark.touch()
        return status

    entries = {entry["file"]: entry
               for entry in json.loads((build / "compile_commands.json").read_text())
               if entry["file"].endswith(".cc") and
               pathlib.Path(entry["file"]).relative_to(root).parts[0] in CHECKED}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(check, entries.values()))


def main():
    root, linter, *rest = sys.argv[1:]
    root = pathlib.Path(root)
    linters = {"shell": shell, "python": python, "types": types, "format": clang_format,
               "tidy-headers": lambda root: tidy_headers(root, rest),
               "tidy": lambda root: tidy(root, pathlib.Path(rest[0]))}
    return 1 if linters[linter](root) else 0


sys.exit(main())
