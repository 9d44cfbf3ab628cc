"""The C libraries by ctypes: bodhi.h, and zazen.h for the division of frames."""
from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, List, Optional

from zazen import places
from zazen.error import Error

LAST = 2**64 - 1
_NUMBER = ctypes.c_uint64
_SIZE = ctypes.c_size_t
_NUMBERS = ctypes.POINTER(_NUMBER)
_MOST_NAME = 4096


def _load(name: str) -> ctypes.CDLL:
    reason = ""
    for path in places.libraries(name):
        try:
            return ctypes.CDLL(path, use_errno=True)
        except OSError as error:
            reason = reason or str(error)
    raise Error(f"{name} cannot be loaded: {reason}", f"{places.zazenctl()} doctor")


def _declare(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    try:
        function = getattr(library, name)
    except AttributeError:
        raise Error(f"{library._name} has no {name}(): it is of another version",
                    "zazenctl --version  and zazen.__version__ must be the same") from None
    function.restype = result
    function.argtypes = list(arguments)
    return function


class Cache:
    """A handle of libbodhi, for a short time: it belongs to this process alone."""

    def __init__(self) -> None:
        library = _load("libbodhi.so.0")
        handle, text = ctypes.c_void_p, ctypes.c_char_p
        self._close = _declare(library, "bodhi_close", None, handle)
        self._error = _declare(library, "bodhi_error", text)
        self._list = _declare(library, "bodhi_list", ctypes.c_ssize_t, handle, text, ctypes.c_int,
                              _NUMBER, _NUMBER, _NUMBERS, _SIZE)
        self._is_divided = _declare(library, "bodhi_is_divided", ctypes.c_int, handle, text)
        self._frame_name = _declare(library, "bodhi_frame_name", ctypes.c_ssize_t, handle, text,
                                    _NUMBER, text, _SIZE)
        self.handle = _declare(library, "bodhi_open", handle, text)(None)
        if not self.handle:
            raise self._failure("zazenctl init DIR  writes a configuration")

    def close(self) -> None:
        """Nothing else may be called after this."""
        self._close(self.handle)

    def _failure(self, hint: str) -> Error:
        return Error(os.fsdecode(self._error()), hint)

    def dataset(self, directory: str) -> bytes:
        """The path by which the configuration knows the directory."""
        for path in dict.fromkeys((os.path.abspath(directory), os.path.realpath(directory))):
            if self._frame_name(self.handle, os.fsencode(path), 0, bytes(_MOST_NAME),
                                _MOST_NAME) >= 0:
                return os.fsencode(path)
            if ctypes.get_errno() != errno.ENOENT:
                break
        raise self._failure(f"zazenctl init {os.path.abspath(directory)}")

    def is_divided(self, dataset: bytes) -> bool:
        """Whether this process belongs to a job that has divided the dataset."""
        return bool(self._is_divided(self.handle, dataset) == 1)

    def numbers(self, dataset: bytes, own: bool, first: int, last: int) -> List[int]:
        """The frames of the directory, ascending."""
        capacity = 1 << 12
        while True:
            found = (_NUMBER * capacity)()
            count = self._list(self.handle, dataset, own, first, last, found, capacity)
            if count < 0:
                raise self._failure(f"ls -ld {os.fsdecode(dataset)}")
            if count <= capacity:
                return list(found[:count])
            capacity = 2 * count

    def first(self, dataset: bytes) -> Optional[int]:
        """The first frame of all."""
        found = _NUMBER()
        count = self._list(self.handle, dataset, False, 0, LAST, ctypes.byref(found), 1)
        if count < 0:
            raise self._failure(f"ls -ld {os.fsdecode(dataset)}")
        return found.value if count else None

    def name(self, dataset: bytes, number: int) -> str:
        """The name of a frame below the dataset's directory."""
        name = ctypes.create_string_buffer(_MOST_NAME)
        if self._frame_name(self.handle, dataset, number, name, _MOST_NAME) < 0:
            raise self._failure("")
        return os.fsdecode(name.value)


class Division:
    """zazen.h of one MPI: gives each frame of a range to exactly one rank of a communicator."""

    def __init__(self, version_of_mpi: str) -> None:
        library = _load(f"libzazen-{'mpich' if 'MPICH' in version_of_mpi else 'openmpi'}.so")
        pointer = ctypes.c_void_p
        self._divide = _declare(library, "zazen_on", pointer, pointer, ctypes.c_char_p, _NUMBER,
                                _NUMBER, _NUMBER, ctypes.c_int)
        self._next = _declare(library, "zazen_next", ctypes.c_int, pointer, _NUMBERS)
        self._free = _declare(library, "zazen_free", None, pointer)
        self._error = _declare(library, "zazen_error", ctypes.c_char_p)

    def own(self, cache: Cache, dataset: bytes, begin: int, end: int, stride: int,
            communicator: int) -> List[int]:
        """Collective. The numbers of this rank, ascending."""
        mine = self._divide(cache.handle, dataset, begin, end, stride, communicator)
        if not mine:
            raise Error(f"{os.fsdecode(dataset)}: {os.fsdecode(self._error())}",
                        "ZAZEN_LOG=info ZAZEN_LOG_FILE=log  says more")
        numbers, number = [], _NUMBER()
        while self._next(mine, ctypes.byref(number)):
            numbers.append(number.value)
        self._free(mine)
        return numbers
