"""The recipe for Spack and the definition for Apptainer fit the tree: the version, the libraries that CMake asks
for, the packages that CPack makes, the files that they install. The image's start reads from the cache."""
import ast
import os
import pathlib
import re

from nodes import BUILD, ZAZENCTL, Nodes
from processes import expect, run

SOURCE = pathlib.Path(__file__).resolve().parents[3]
(VERSION,) = re.findall(r"project\(zazen VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())
# What CMake finds, by Spack's name.
IN_SPACK = {"fmt": "fmt", "libxxhash": "xxhash", "libcrypto": "openssl", "MUNGE_LIBRARY": "munge", "pmix": "pmix",
            "MPI": "openmpi", "mpich": "mpich", "CLI11": "cli11", "nlohmann_json": "nlohmann-json",
            "libunwind": "libunwind", "libdw": "elfutils", "PkgConfig": "pkgconfig"}
OF_ITSELF = {"Threads"}


def wanted_by_cmake():
    """The names in find_package() and pkg_check_modules() of what is installed."""
    names = set()
    for path in SOURCE.rglob("CMakeLists.txt"):
        if path.relative_to(SOURCE).parts[0] in ("bodhi", "coord", "daemon", "preload", "tools", "CMakeLists.txt"):
            text = path.read_text()
            names |= set(re.findall(r"find_package\((\w+)", text))
            names |= {name.split(">")[0] for name in re.findall(
                r"pkg_check_modules\(\w+(?: REQUIRED)?(?: IMPORTED_TARGET)? ([\w>=.-]+)\)", text)}
            names |= set(re.findall(r"find_library\((MUNGE_LIBRARY)", text))
    return names


def check_spack():
    tree = ast.parse((SOURCE / "packaging/spack/package.py").read_text())
    (recipe,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    expect(recipe.name == "Zazen" and recipe.bases[0].id == "CMakePackage", "its class")
    calls = [node.value for node in recipe.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    first = {}
    for call in calls:
        first.setdefault(call.func.id, []).append(call.args[0].value)
    expect(first["version"] == [VERSION], f"{first['version']}")
    names = {re.match(r"[\w-]+", spec)[0] for spec in first["depends_on"]}
    for name in wanted_by_cmake() - OF_ITSELF:
        expect(IN_SPACK[name] in names, f"no depends_on() for {name}")
    (least,) = re.findall(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", (SOURCE / "CMakeLists.txt").read_text())
    expect(f"cmake@{least}:" in first["depends_on"], f"CMake is not at least {least}")


def sections():
    text = (SOURCE / "packaging/apptainer/zazen.def").read_text()
    return dict(re.findall(r"^%(\w+)\n((?:(?!%).*\n)*)", text, re.M))


def check_apptainer(nodes, parts):
    expect(set(parts) == {"files", "post", "runscript", "test", "labels", "help"}, f"{parts.keys()}")
    expect(f"Version {VERSION}\n" in parts["labels"], "its version")
    packed = (pathlib.Path(BUILD) / "CPackConfig.cmake").read_text()
    names = set(re.findall(r'set\(CPACK_DEBIAN_\w+_PACKAGE_NAME "([^"]+)"\)', packed))
    named = set(re.findall(r"build/release/packages/([\w-]+)_\*\.deb /opt/packages/", parts["files"]))
    expect(len(named) == 2 and named <= names, f"{named}, but there are {names}")
    listed = (SOURCE / "tools/install-packages").read_text().split()
    (line,) = re.findall(r"--no-install-recommends (.*) /opt/packages/\*\.deb", parts["post"])
    expect(set(line.split()) <= set(listed), f"{line} are not among the packages of the tests")

    installed = nodes.path("installed")
    run(["cmake", "--install", BUILD, "--prefix", installed], nodes.env).succeeded()
    files = re.findall(r"test -e /usr/(\S+)", parts["test"])
    expect(len(files) == 2, f"{files}")
    for file in files:
        expect(os.path.exists(f"{installed}/{file}"), f"no {file}")
    expect(os.path.exists(f"{installed}/bin/zazenctl"), "no zazenctl")
    for name in ("post", "runscript", "test"):
        script = nodes.path(f"{name}.sh")
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\n{parts[name]}")
        run(["shellcheck", script], nodes.env).succeeded()


with Nodes(1) as nodes:
    check_spack()
    run(["cmake", "-S", SOURCE, "-B", nodes.path("build"), "-G", "Ninja", "-D", "BUILD_TESTING=OFF",
         "-D", "CMAKE_DISABLE_FIND_PACKAGE_GTest=ON"], nodes.env).succeeded()
    check_apptainer(nodes, sections())
    data = nodes.dataset(frames=5)
    nodes.start()
    nodes.push(data)
    (node,) = nodes
    env = dict(nodes.env, PATH=f"{os.path.dirname(ZAZENCTL)}:{nodes.env['PATH']}", ZAZEN_CONFIG=node.config)
    done = run(["sh", nodes.path("runscript.sh"), "sh", "-c", "cat \"$1\" | wc -c", "sh", data.file("f1")], env)
    expect((done.status, done.stdout) == (0, f"{data.sums['f1'][0]}\n") and node.status()["hits"] == 1, f"{done}")
