"""own_frames(): the frames that this process should read."""
from __future__ import annotations

import functools
import math
import operator
import os
import sys
from typing import Any, Callable, List, Optional, Protocol, Sequence, Tuple, TypeVar, Union

from zazen.error import Error
from zazen.library import LAST, Cache, Division

T = TypeVar("T")
MOST_GAPS = 1_000  # numbers without a frame, for each frame, in a range that is divided


class Communicator(Protocol):
    """The part of mpi4py's Intracomm that own_frames() needs."""

    @property
    def rank(self) -> int:
        """This process's number."""

    @property
    def size(self) -> int:
        """The number of processes."""

    def allgather(self, sendobj: Any) -> List[Any]:
        """Gives each process the objects of all."""

    def py2f(self) -> int:
        """The Fortran handle."""


def common_step(numbers: Sequence[int]) -> int:
    """The largest step from the first number that meets all the others.

    >>> common_step([100, 300, 600])
    100
    >>> common_step([7])
    1
    """
    return functools.reduce(math.gcd, (number - numbers[0] for number in numbers), 0) or 1


def _on_all(comm: Optional[Communicator], step: Callable[[], T]) -> List[T]:
    """The results of a step on each rank. If it fails on one rank, all raise its error."""
    if comm is None:
        return [step()]
    outcome: Union[T, Error]
    try:
        outcome = step()
    except Error as error:
        outcome = error
    except Exception as error:
        outcome = Error(f"{type(error).__name__}: {error}",
                        "python3 -c 'import zazen; help(zazen.own_frames)'")
    outcomes = comm.allgather(outcome)
    for rank, one in enumerate(outcomes):
        if isinstance(one, Error):
            raise Error(f"rank {rank}: {one.reason}", one.hint)
    return outcomes


class _Request:
    """The selected frames of a dataset, as this process sees them."""

    def __init__(self, cache: Cache, directory: str, begin: Optional[int], end: Optional[int],
                 stride: Optional[int]) -> None:
        self._begin = None if begin is None else operator.index(begin)
        self._stride = 1 if stride is None else operator.index(stride)
        self._first = self._begin or 0
        self._last = LAST if end is None else operator.index(end)
        if self._stride < 1 or not 0 <= self._first <= self._last <= LAST:
            raise Error(f"begin={begin}, end={end}, stride={stride}: no range of frames",
                        "0 <= begin <= end < 2**64, and 1 <= stride")
        self.cache = cache
        self.dataset = cache.dataset(directory)
        self.arguments = (self.dataset, self._begin, self._last, self._stride)
        self.is_divided = cache.is_divided(self.dataset)

    def numbers(self) -> List[int]:
        """Ascending; in a divided job those of this rank."""
        found = self.cache.numbers(self.dataset, True, self._first, self._last)
        if self._stride == 1 or not found:
            return found
        start = self._begin
        if start is None:  # the first frame of all ranks
            start = self.cache.first(self.dataset) if self.is_divided else found[0]
        assert start is not None
        return [number for number in found if (number - start) % self._stride == 0]

    def share(self, comm: Communicator) -> List[int]:
        """Collective: this rank's part. Rank 0 alone lists the directory."""
        listed = _on_all(comm, lambda: self.numbers() if comm.rank == 0 else [])[0]
        if not listed:
            return []
        step = common_step(listed)
        if (listed[-1] - listed[0]) // step >= MOST_GAPS * len(listed):
            raise Error(f"{len(listed)} frames from {listed[0]} to {listed[-1]}: "
                        "too few for a range of this size", "zazenctl run --divide")
        library: List[Division] = []
        version = str(sys.modules["mpi4py.MPI"].Get_library_version())
        _on_all(comm, lambda: library.append(Division(version)))
        own = library[0].own(self.cache, self.dataset, listed[0], listed[-1], step,
                             comm.py2f())
        return sorted(set(listed).intersection(own))


def own_frames(directory: Union[str, "os.PathLike[str]"], comm: Optional[Communicator] = None,
               begin: Optional[int] = None, end: Optional[int] = None,
               stride: Optional[int] = None) -> List[str]:
    """The paths of the frames that this process should read, by ascending numbers.

    directory is a dataset of the configuration. begin, end (itself included) and stride select
    frames by the numbers in their names; without a begin, the stride counts from the first frame.

    With an mpi4py communicator the call is collective. Each frame goes to exactly one rank, to
    one whose node holds it if there is one. Without a communicator, or with one rank, these are
    all frames. In a job that is divided already (`zazenctl run --divide`), and in processes that
    a rank of it starts, these are the frames of the rank, with or without a communicator.

    Raises Error, on all ranks of the communicator alike.

    >>> import os
    >>> [os.path.basename(path) for path in own_frames(sim1, begin=2, stride=2)]
    ['f2', 'f4', 'f6']
    """
    if comm is not None and comm.size == 1:
        comm = None
    requests: List[_Request] = []
    cache = None
    name = ""

    def look() -> Tuple[bool, Tuple[object, ...]]:
        nonlocal cache, name
        name = os.fspath(directory)
        cache = Cache()
        requests.append(_Request(cache, name, begin, end, stride))
        return requests[0].is_divided, requests[0].arguments
    try:
        looks = _on_all(comm, look)
        for rank, (_, arguments) in enumerate(looks):
            if arguments != looks[0][1]:
                raise Error(f"rank {rank}: other arguments than those of rank 0",
                            "give each rank the same directory, begin, end and stride")
        divided = [one for one, _ in looks]
        if any(divided) != all(divided):
            raise Error(f"{name}: rank {divided.index(True)} is in a divided job, "
                        f"rank {divided.index(False)} is not", "zazenctl run --no-divide")
        request = requests[0]
        if comm is None:
            mine = request.numbers()
        elif divided[0]:
            mine = _on_all(comm, request.numbers)[comm.rank]
        else:
            mine = request.share(comm)
        return [os.path.join(name, request.cache.name(request.dataset, one)) for one in mine]
    finally:
        if cache is not None:
            cache.close()
