"""The examples in C, Fortran and Python push every frame that they write."""
import os
import re

from bodhi_library import LIBRARY, check_placed
from nodes import BUILD, PYTHON, Nodes
from processes import expect, run

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")

with Nodes(2) as nodes:
    runs = {name: nodes.dataset(frames=0, name=name, ordinary=False)
            for name in ("c", "fortran", "python")}
    nodes.start()
    commands = {"c": [f"{BUILD}/tests/writer/push_frames_c"],
                "fortran": [f"{BUILD}/tests/writer/push_frames_f90"],
                "python": [PYTHON, f"{EXAMPLES}/push_frames.py"]}
    for name, data in runs.items():
        env = dict(nodes.env, ZAZEN_CONFIG=nodes[0].config, BODHI_LIBRARY=LIBRARY)
        done = run([*commands[name], data.path, "20"], env).succeeded()
        expect("pushed 20 dropped 0" in done.stdout and not done.stderr, f"{done}")
        check_placed(nodes, data, range(20))
        if name == "c":
            expect(re.findall(r"^unix:.* (\d+)$", done.stdout, re.M) == ["10"] * 2, f"{done}")
        if name == "python":
            expect("this node holds 10 of them" in done.stdout, f"{done}")
            expect(re.search(r"read 40000 bytes of frame \d+, the same", done.stdout), f"{done}")
