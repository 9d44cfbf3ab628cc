"""pip installs the package from the sources without a network: the same files, in the syntax of Python 3.9,
and with the version of zazenctl."""
import ast
import os
import pathlib

from nodes import PYTHON, ZAZENCTL, Nodes
from processes import expect, run

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python"

with Nodes(0) as nodes:
    target = nodes.path("site")
    run([PYTHON, "-m", "pip", "install", "--no-index", "--no-cache-dir", "--target", target, SOURCE],
        nodes.env).succeeded()
    found = {path.name: path.read_bytes() for path in pathlib.Path(target, "zazen").iterdir() if path.is_file()}
    wanted = {path.name: path.read_bytes() for path in (SOURCE / "zazen").iterdir() if path.is_file()}
    expect(found == wanted and "py.typed" in found, f"{found.keys()} instead of {wanted.keys()}")
    for name, content in found.items():
        ast.parse(content, name, feature_version=(3, 9))
    asked = run([PYTHON, "-m", "pip", "list", "--path", target], nodes.env).succeeded()
    version = run([ZAZENCTL, "--version"], nodes.env).succeeded().stdout.split()[-1]
    expect(["zazen", version] in [line.split() for line in asked.stdout.splitlines()], f"{version}: {asked}")
    where = [PYTHON, "-c", "import zazen; print(zazen.__file__)"]
    imported = run(where, dict(nodes.env, PYTHONPATH=target)).succeeded()
    expect(imported.stdout == f"{os.path.realpath(target)}/zazen/__init__.py\n", f"{imported}")
