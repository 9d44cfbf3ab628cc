"""The one exception of this package."""
from __future__ import annotations


class Error(Exception):
    """A reason, and a hint what to do now.

    >>> error = Error("/sim1: no dataset has this path", "zazenctl init /sim1")
    >>> print(error)
    /sim1: no dataset has this path
    hint: zazenctl init /sim1
    >>> error.reason, error.hint
    ('/sim1: no dataset has this path', 'zazenctl init /sim1')
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.reason}\nhint: {self.hint}" if self.hint else self.reason
