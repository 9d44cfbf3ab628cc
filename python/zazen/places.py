"""Where zazenctl and the C libraries are: of the installation that this package belongs to, else
of the zazenctl in PATH. The variable ZAZENCTL overrules both."""
from __future__ import annotations

import os
import shutil
import sysconfig
from typing import Iterator

from zazen.error import Error


def zazenctl() -> str:
    """The path of zazenctl."""
    named = os.environ.get("ZAZENCTL")
    if named:
        return named
    # PREFIX/lib/python3/dist-packages/zazen/places.py
    prefix = os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 4)
    beside = os.path.normpath(os.path.join(prefix, "bin", "zazenctl"))
    found = beside if os.access(beside, os.X_OK) else shutil.which("zazenctl")
    if found is None:
        raise Error("zazenctl: not found", "export ZAZENCTL=/path/to/zazenctl")
    return found


def libraries(name: str) -> Iterator[str]:
    """Names for dlopen(), the likeliest first; the last is for the loader to find."""
    directory = os.path.dirname(os.path.realpath(zazenctl()))
    of_this_machine = sysconfig.get_config_var("MULTIARCH") or "."
    for place in ("lib/zazen", "lib", f"lib/{of_this_machine}",  # of an installation
                  "coord", "bodhi/library"):  # of a build
        path = os.path.join(os.path.dirname(directory), place, name)
        if os.path.exists(path):
            yield path
    yield name
