"""Zazen in two versions: THIS is the build, OTHER the same with other numbers in its tables, messages and
interfaces (tests/skew/CMakeLists.txt)."""
import contextlib
import dataclasses

import nodes as harness
from nodes import BUILD
from processes import run


@dataclasses.dataclass(frozen=True)
class Version:
    top: str

    @property
    def shim(self):
        return f"{self.top}/preload/libzazen.so"

    @property
    def plugin(self):
        return f"{self.top}/coord/libzazen-openmpi.so"

    @property
    def zazenctl(self):
        return f"{self.top}/tools/zazenctl"

    @property
    def bodhi(self):
        return f"{self.top}/bodhi/library/libbodhi.so"

    @contextlib.contextmanager
    def used(self):
        """The harness has its daemons, its zazenctl and its shim from this version."""
        names = "ZAZEND", "ZAZENCTL", "SHIM"
        kept = [getattr(harness, name) for name in names]
        for name, value in zip(names, (f"{self.top}/daemon/zazend", self.zazenctl, self.shim)):
            setattr(harness, name, value)
        try:
            yield self
        finally:
            for name, value in zip(names, kept):
                setattr(harness, name, value)

    def ctl(self, nodes, node, *words):
        """This version's zazenctl asks a node of any version."""
        return run([self.zazenctl, "--config", node.config, *words], nodes.env)


THIS, OTHER = Version(BUILD), Version(f"{BUILD}/tests/skew/other")
BOTH_WAYS = ((THIS, OTHER), (OTHER, THIS))
