"""libzazen.so needs libc only, and exports and imports exactly the symbols of the checked-in lists.
It does not hook calls on an open descriptor. libzazen-trace.so does, and needs libc only, too.

The compiler's options decide which of memcpy, strlen, gnu_dev_major and their like are called. The
list of imports names them, and a build that inlines some of them is accepted.
"""
import os
import pathlib
import re
import subprocess
import sys

SHIM = os.environ["ZAZEN_BUILD"] + "/preload/libzazen.so"
TRACE = os.environ["ZAZEN_BUILD"] + "/preload/libzazen-trace.so"
LISTS = pathlib.Path(sys.argv[1])
ALLOWED_LIBRARIES = {"libc.so.6", "ld-linux-x86-64.so.2"}
OLDEST_GLIBC = (2, 31)  # on which a preloaded program starts
ONLY_TRACED = {"read", "pread", "pread64", "readv", "preadv", "fread", "fread_unlocked", "close",
               "fclose", "mmap", "mmap64", "__read_chk", "__fread_chk"}


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def symbols(*options, library=SHIM):
    lines = output("nm", "-D", *options, library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def lines_of(name):
    return set((LISTS / name).read_text().split())


def expect_equal(what, found, listed):
    if found != listed:
        sys.exit(f"FAILED: {what}: new {sorted(found - listed)}, gone {sorted(listed - found)}")


for library in (SHIM, TRACE):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library)))
    if not needed <= ALLOWED_LIBRARIES:
        sys.exit(f"FAILED: {library} needs {sorted(needed - ALLOWED_LIBRARIES)}")

exports = symbols("--defined-only")
expect_equal("exports", exports, lines_of("exports.txt"))
expect_equal("hooks of open descriptors", exports & ONLY_TRACED, set())
traced = symbols("--defined-only", library=TRACE)
expect_equal("hooks of the trace", traced & ONLY_TRACED, ONLY_TRACED)
forwarded = set(re.findall(r"\bX\((\w+)", (LISTS / "trace" / "next.h").read_text())) - {"name"}
expect_equal("exports of the trace", traced, forwarded)

imports, listed = symbols("--undefined-only"), lines_of("imports.txt")
by_the_compiler = {name for name in listed if name.startswith(("mem", "str", "gnu_dev_"))}
expect_equal("imports", imports | by_the_compiler, listed)

# A weak reference does not help: the loader refuses a library whose version it lacks.
versions = re.findall(r"Name: GLIBC_([0-9.]+)", output("readelf", "-V", SHIM))
newer = {name for name in versions if tuple(map(int, name.split("."))) > OLDEST_GLIBC}
if not versions or newer:
    sys.exit(f"FAILED: needs glibc {sorted(newer)}, of {versions}")
