"""The files of `cmake --install` in a prefix build a C program outside of the tree: by pkg-config
and by find_package, shared and static. The shared library needs and exports exactly what the lists
say."""
import os
import pathlib
import re
import subprocess
import tempfile

from nodes import BUILD
from processes import expect

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3", "libmunge.so.2",
           "libxxhash.so.0"}

PROGRAM = """#include <bodhi.h>
#include <stdio.h>
int main(void) {
  printf("%s\\n", bodhi_open("/missing.toml") == NULL ? bodhi_error() : "opened");
  return bodhi_write(NULL, "/sim1", 0, "x", 1) == -1 ? 0 : 1;
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(outside C)
find_package(bodhi 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE bodhi::bodhi)
add_executable(static main.c)
target_link_libraries(static PRIVATE bodhi::bodhi_static)
"""


def output(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    expect(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def check_program(program, is_shared):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program))
    expect(("libbodhi.so.0" in needed) == is_shared, f"{program} needs {needed}")
    said = output(program, env={"LD_LIBRARY_PATH": str(library)} if is_shared else {})
    expect("/missing.toml" in said, f"{program}: {said}")


with tempfile.TemporaryDirectory(dir=f"{BUILD}/tests") as scratch:
    prefix, outside = pathlib.Path(scratch) / "prefix", pathlib.Path(scratch) / "outside"
    for component in ("zazen", "bodhi"):  # what runs, and what links
        output("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
    outside.mkdir()
    (outside / "main.c").write_text(PROGRAM)
    (outside / "CMakeLists.txt").write_text(PROJECT)
    library = next(prefix.rglob("libbodhi.so.0")).parent

    names = output("nm", "-D", "--defined-only", library / "libbodhi.so").splitlines()
    exports = {line.split()[-1].split("@")[0] for line in names if " A " not in line}
    listed = set((SOURCE / "bodhi/library/exports.txt").read_text().split())
    expect(exports == listed, f"new {exports - listed}, gone {listed - exports}")
    dynamic = output("readelf", "-d", library / "libbodhi.so")
    expect("[libbodhi.so.0]" in dynamic, "the SONAME")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    expect(needed <= ALLOWED, f"needs {needed - ALLOWED}")
    header = next(prefix.rglob("bodhi.h"))
    for language in ("c99", "c++11"):
        output("g++" if "+" in language else "gcc", f"-std={language}", "-pedantic-errors", "-Wall",
               "-Werror", "-fsyntax-only", "-x", "c++" if "+" in language else "c", header)

    env = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"))
    flags = output("pkg-config", "--cflags", "--libs", "bodhi", env=env).split()
    output("cc", "main.c", "-o", "by_pkg_config", *flags, cwd=outside)
    check_program(outside / "by_pkg_config", True)
    flags = output("pkg-config", "--static", "--cflags", "--libs", "bodhi", env=env)
    flags = flags.replace("-lbodhi", "-l:libbodhi.a").split()
    output("cc", "main.c", "-o", "by_pkg_config_static", *flags, cwd=outside)
    check_program(outside / "by_pkg_config_static", False)

    output("cmake", "-S", outside, "-B", outside / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    output("cmake", "--build", outside / "build")
    check_program(outside / "build/shared", True)
    check_program(outside / "build/static", False)
