"""`cpack` makes four packages. lintian finds no error in them, and each has its own files. Together they have
all files that `cmake --install` installs, except module files."""
import os
import pathlib
import shutil

from nodes import BUILD, Nodes, is_sanitized, skip
from processes import expect, run

if is_sanitized() or not shutil.which("lintian"):
    skip("needs lintian and a build without sanitizer")

EACH = {"zazen": ("bin/zazenctl", "lib/zazen/libzazen.so", "lib/zazen/libzazen-openmpi.so",
                  "lib/zazen/libzazen-trace.so", "lib/libbodhi.so.0", "share/man/man1/zazenctl.1.gz"),
        "zazend": ("sbin/zazend", "lib/systemd/system/zazend.service", "share/man/man8/zazend.8.gz"),
        "libbodhi-dev": ("include/zazen/bodhi/bodhi.h", "include/zazen/zazen.h", "lib/libbodhi.so",
                         "lib/libbodhi.a", "lib/pkgconfig/bodhi.pc", "share/man/man3/bodhi.3.gz"),
        "python3-zazen": ("lib/python3/dist-packages/zazen/__init__.py", "lib/python3/dist-packages/zazen/py.typed")}
# Debian's own forms of the documents.
ADDED = ("copyright", "changelog.gz")

with Nodes(1) as nodes:
    packages, env = nodes.path("packages"), dict(nodes.env, LANG="C")
    run(["cpack", "--config", f"{BUILD}/CPackConfig.cmake", "-B", packages], env, cwd=BUILD).succeeded()
    files = [str(path) for path in pathlib.Path(packages).glob("*.deb")]
    checked = run(["lintian", "--allow-root", "--fail-on", "error", *files], env)
    expect(checked.status == 0, f"{checked}")

    together = set()
    for name, parts in EACH.items():
        (file,) = (file for file in files if os.path.basename(file).startswith(f"{name}_"))
        tree = nodes.path(name)
        run(["dpkg-deb", "--extract", file, tree], env).succeeded()
        found = {str(path.relative_to(f"{tree}/usr")) for path in pathlib.Path(tree).rglob("*") if not path.is_dir()}
        expect(set(parts) <= found, f"{name} has no {set(parts) - found}")
        expect(not together & found, f"in two packages: {together & found}")
        together |= found

    installed = nodes.path("installed")
    run(["cmake", "--install", BUILD, "--prefix", installed], env).succeeded()
    wanted = {str(path.relative_to(installed)) for path in pathlib.Path(installed).rglob("*") if not path.is_dir()}
    packed = {path.removesuffix(".gz") if "/man/" in path else path for path in together
              if os.path.basename(path) not in ADDED and "/lintian/" not in path}
    expect(packed == {path for path in wanted if not path.endswith("/LICENSE") and "/modulefiles/" not in path},
           f"{packed ^ wanted}")
