"""explain(), status() and report(): what zazenctl prints with --json, as dictionaries.

Each class lists its keys; `total=False` marks those that are not always there. Later versions of
Zazen may add keys."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List, Optional, TypedDict, Union, cast

from zazen import places
from zazen.error import Error


class OtherFiles(TypedDict):
    """Calls for files beside the frames, such as offsets that MDAnalysis keeps."""

    dataset: str
    pattern: str  # of their names: .f*.xtc_offsets.npz
    reads: int  # opens for reading
    writes: int
    stats: int
    open_seconds: float
    stat_seconds: float


class Copy(TypedDict, total=False):
    """This node's copy of a frame."""

    as_origin: bool
    differs: List[str]  # what is not as at the origin: size, mtime, ...
    kind: str  # "native": pushed by a writer; "alien": fetched after a miss
    bytes: int


class Note(TypedDict):
    """What the daemon remembers of a copy."""

    why: str
    at: int  # in seconds since 1970


class Explanation(TypedDict, total=False):
    """explain(): what an open of this path gets now. The keys of every path come first."""

    path: str
    kind: str  # "frame", "directory" (of frames) or "ordinary"
    rule: str  # the rule that decided the kind
    dataset: Optional[str]
    # frame, ordinary:
    reads: str  # "cache", "origin" or "nothing"
    because: str
    then: str  # what the daemon is asked for
    # frame:
    seq: Optional[int]  # the number in its name
    companion: bool  # a file of the dataset's key `also`
    copy: Optional[Copy]
    checked: str  # when the copy is compared with the origin
    dropped: Optional[Note]
    doubted: Optional[Note]
    writing_drops_copy: bool
    writing_pushes: bool
    # directory:
    frames: Optional[int]  # at the origin
    native: int  # pushed to this node
    alien: int  # fetched by this node
    divided: bool  # whether an MPI job would divide them
    other_files: List[OtherFiles]
    other_files_job: str  # the job that made these calls
    # in a divided job:
    rank: int
    frame_is: str  # "own", "another rank's" or "arrived later"
    listed: int  # how many frames the rank's listing shows


class StatusOfDataset(TypedDict):
    """A dataset in status()."""

    path: str
    frames: str  # the template of their names
    native: int
    alien: int
    waiting: int  # pushed before the origin had them
    bytes: int
    pinned: int
    hits: int
    misses: int


class Status(TypedDict):
    """status(): whether this node's daemon is healthy, and what it holds."""

    node: str
    version: str
    healthy: bool
    problems: List[str]
    warnings: List[str]
    uptime_seconds: int
    cache: str
    runtime: str
    capacity_bytes: int  # 0: no limit
    used_bytes: int
    used_files: int
    hits: int
    misses: int
    evictions: int
    datasets: List[StatusOfDataset]


class RankReport(TypedDict):
    """A rank in report()."""

    rank: int
    node: str
    assigned: int
    read: int
    hits: int
    misses: int
    reported: bool  # false: its figures are not known


class JobReport(TypedDict):
    """report(): who read what. docs/users.md describes the keys. None: it is not known."""

    filtered: bool  # whether the frames were divided
    complete: bool  # every rank has reported
    reason: Optional[str]  # why it was not divided
    ranks: int
    nodes: int
    frames_listed: int
    frames_read: int
    frames_read_twice: int  # by two ranks
    frames_never_read: int
    frames_arrived_later: Optional[int]
    exactly_once: bool
    hits: int
    misses: int
    bytes_local: int
    bytes_origin: int
    duration_seconds: Optional[float]
    protocol_seconds: float
    listing_seconds: float
    phases: Dict[str, float]
    other_files: List[OtherFiles]
    per_rank: List[RankReport]


def _ask(*words: str) -> Dict[str, Any]:
    command = [places.zazenctl(), *words, "--json"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise Error(f"{command[0]}: {error.strerror}",
                    "export ZAZENCTL=/path/to/zazenctl") from None
    if done.returncode != 0:
        reason, _, hint = done.stderr.strip().partition("\nhint: ")
        raise Error(reason.replace("zazenctl: error: ", "", 1) or f"{command[0]} failed", hint)
    return cast(Dict[str, Any], json.loads(done.stdout))


def explain(path: Union[str, "os.PathLike[str]"]) -> Explanation:
    """What an open of this path gets now, and which rule decides.

    >>> answer = explain(sim1 + "/f2")
    >>> answer["kind"], answer["seq"], answer["reads"]
    ('frame', 2, 'cache')
    """
    name = os.fspath(path)
    if name.startswith("-"):
        name = os.path.join(os.curdir, name)
    return cast(Explanation, _ask("explain", name)["paths"][0])


def status() -> Status:
    """Whether this node's daemon is healthy, and what it holds. Error if it does not answer.

    >>> answer = status()
    >>> answer["healthy"], [dataset["native"] for dataset in answer["datasets"]]
    (True, [7])
    """
    return cast(Status, _ask("status"))


def report(name: str = "last") -> JobReport:
    """How a job of `zazenctl run` read its frames: by the beginning of its number, or the last.

    >>> report()["frames_read"]
    3
    """
    return cast(JobReport, _ask("report", name))
