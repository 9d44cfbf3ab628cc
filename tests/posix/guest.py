"""libzazen.so needs libc only, and exports and imports exactly what the checked-in lists say.

Which of memcpy, strlen, gnu_dev_major and their like are called depends on the compiler's
options; the list of imports names them, and a build that inlines some of them is fine.
"""
import os
import pathlib
import re
import subprocess
import sys

SHIM = os.environ["ZAZEN_BUILD"] + "/preload/libzazen.so"
LISTS = pathlib.Path(sys.argv[1])
ALLOWED_LIBRARIES = {"libc.so.6", "ld-linux-x86-64.so.2"}


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def symbols(*options):
    lines = output("nm", "-D", *options, SHIM).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def lines_of(name):
    return set((LISTS / name).read_text().split())


def expect_equal(what, found, listed):
    if found != listed:
        sys.exit(f"FAILED: {what}: new {sorted(found - listed)}, gone {sorted(listed - found)}")


needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", SHIM)))
if not needed <= ALLOWED_LIBRARIES:
    sys.exit(f"FAILED: libzazen.so needs {sorted(needed - ALLOWED_LIBRARIES)}")

expect_equal("exports", symbols("--defined-only"), lines_of("exports.txt"))

imports, listed = symbols("--undefined-only"), lines_of("imports.txt")
by_the_compiler = {name for name in listed if name.startswith(("mem", "str", "gnu_dev_"))}
expect_equal("imports", imports | by_the_compiler, listed)
