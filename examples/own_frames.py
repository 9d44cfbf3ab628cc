"""Each process asks which frames it should read, and reads them; mpi4py and ctypes.

    mpirun -n 8 zazenctl run -- python3 own_frames.py /sim1 0 999 1

The ranks are asked in two halves here, to show that any communicator will do: each half goes
through all frames. ZAZEN_LIBRARY and BODHI_LIBRARY name the libraries if they are not where the
loader looks.
"""
import ctypes
import os
import sys

from mpi4py import MPI


def load_libraries():
    name = "libzazen-mpich.so" if "MPICH" in MPI.Get_library_version() else "libzazen-openmpi.so"
    library = ctypes.CDLL(os.environ.get("ZAZEN_LIBRARY", name))
    number = ctypes.c_uint64
    bodhi = ctypes.CDLL(os.environ.get("BODHI_LIBRARY", "libbodhi.so.0"))
    bodhi.bodhi_open.restype = ctypes.c_void_p
    bodhi.bodhi_open.argtypes = [ctypes.c_char_p]
    bodhi.bodhi_close.argtypes = [ctypes.c_void_p]
    library.zazen_on.restype = ctypes.c_void_p
    library.zazen_on.argtypes = [ctypes.c_void_p, ctypes.c_char_p, number, number, number,
                                 ctypes.c_int]
    library.zazen_next.argtypes = [ctypes.c_void_p, ctypes.POINTER(number)]
    library.zazen_free.argtypes = [ctypes.c_void_p]
    library.zazen_error.restype = ctypes.c_char_p
    return library, bodhi


def own_frames(comm, directory, begin, end, stride):
    """The numbers of the frames that this process should read."""
    zazen, bodhi = load_libraries()
    cache = bodhi.bodhi_open(None)
    own = zazen.zazen_on(cache, os.fsencode(directory), begin, end, stride, comm.py2f())
    if not own:
        raise RuntimeError(zazen.zazen_error().decode())
    seq = ctypes.c_uint64()
    while zazen.zazen_next(own, ctypes.byref(seq)):
        yield seq.value
    zazen.zazen_free(own)
    bodhi.bodhi_close(cache)


def main():
    world = MPI.COMM_WORLD
    directory, begin, end, stride = sys.argv[1], *map(int, sys.argv[2:5])
    half = world.Split(world.rank % 2, world.rank)
    for seq in own_frames(half, directory, begin, end, stride):
        with open(os.path.join(directory, f"f{seq}"), "rb") as frame:
            size = len(frame.read())
        print(f"half {world.rank % 2} rank {half.rank} frame {seq} bytes {size}", flush=True)


if __name__ == "__main__":
    main()
