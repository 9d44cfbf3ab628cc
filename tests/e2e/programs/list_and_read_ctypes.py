"""The ordinary program in Python without mpi4py: a library (argv[3]) starts and ends MPI. It is
loaded with RTLD_LOCAL, and so is the MPI that it brings."""
import ctypes
import os
import sys
import zlib

directory, out_directory, library = sys.argv[1:4]
mpi = ctypes.CDLL(library)
mpi.start_mpi()
rank = os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"]
with open(f"{out_directory}/rank-{rank}", "w") as out:
    for name in os.listdir(directory):
        print("list", name, file=out)
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            print("read", len(data), zlib.adler32(data), name, file=out)
mpi.end_mpi()
