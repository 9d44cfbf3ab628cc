"""A case: one command line of a real program, and its expected result.

A command is a line that is split as a shell splits it, or a tuple of words where quoting would hide
the sense. It runs in the dataset's directory. In its words {data} is that directory, whose path has
a space in it. {out} is an empty directory to write to. {readers} is the folder of this suite's own
small programs, and {built} that of the compiled ones. {frames} alone becomes the paths of all
frames.
"""
import dataclasses
import shlex


@dataclasses.dataclass(frozen=True)
class Case:
    words: tuple
    status: int = 0
    opens: bool = True  # it opens frames, so hits and misses must show it
    links: int = 0  # how often it opens f77, a symbolic link, which is not cached
    keeps_times: bool = True  # the files that it writes have times that do not depend on now
    changes: bool = False  # it writes to the dataset, and that is compared, not {out}

    def __str__(self):
        return shlex.join(self.words)


@dataclasses.dataclass(frozen=True)
class Program:
    kind: str  # the kind of frames that it is given (frames.py)
    cases: tuple


def split(command):
    return tuple(shlex.split(command) if isinstance(command, str) else command)


def reads(command, status=0, links=0):
    return Case(split(command), status, links=links)


def looks(command, status=0):
    """Lists and stats, but opens no frame."""
    return Case(split(command), status, opens=False)


def copies(command, links=0):
    """It writes what it read, with the same times."""
    return Case(split(command), links=links)


def writes(command, status=0):
    """It writes new files, with today's times."""
    return Case(split(command), status, keeps_times=False)


def changes(command, status=0):
    """It writes to the dataset itself; each run has a new one."""
    return Case(split(command), status, opens=False, keeps_times=False, changes=True)


def on(kind, *cases):
    return Program(kind, cases)
