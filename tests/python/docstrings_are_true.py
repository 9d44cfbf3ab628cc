"""The examples in the docstrings of the package give what they say, with a daemon that has seven frames and
after a job that has read three of them."""
import doctest
import importlib
import os
import pkgutil

from nodes import Nodes
from processes import expect

import zazen

with Nodes(1) as nodes:
    data = nodes.dataset(frames=7)
    nodes.start()
    nodes.push(data)
    nodes[0].ctl("run", "--quiet", "--", "cat", *(data.file(f"f{seq}") for seq in range(3))).succeeded()
    os.environ["ZAZEN_CONFIG"] = nodes[0].config
    tried = 0
    for module in pkgutil.iter_modules(zazen.__path__, "zazen."):
        outcome = doctest.testmod(importlib.import_module(module.name), extraglobs={"sim1": data.path})
        expect(outcome.failed == 0, f"{module.name}: {outcome}")
        tried += outcome.attempted
    expect(tried >= 10, f"only {tried} examples")
    for name in zazen.__all__:
        expect(getattr(zazen, name).__doc__, f"{name} has no docstring")
