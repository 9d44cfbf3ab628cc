"""A checksum of each frame, by joblib's processes on one node, without MPI.

    zazenctl run -- python3 joblib_sums.py /sim1
"""
import os
import sys
import zlib

from joblib import Parallel, delayed

import zazen


def checksum(path):
    with open(path, "rb") as frame:
        return os.path.basename(path), zlib.crc32(frame.read())


def main():
    frames = zazen.own_frames(sys.argv[1])
    for name, value in Parallel(n_jobs=4)(delayed(checksum)(path) for path in frames):
        print(f"{name} {value:08x}")


if __name__ == "__main__":
    main()
