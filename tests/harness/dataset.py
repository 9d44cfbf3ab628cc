"""A trajectory directory of real random bytes at the origin, and what its files should read as."""
import os
import random
import zlib

SIZES = (0, 1, 4095, 4096, 4097, 20_000, 65_536, 100_003)


class Dataset:
    """Frames of all sorts of sizes, and names that are no frames."""

    def __init__(self, path, frames, template="f{seq}", seed=1, sizes=SIZES, ordinary=True,
                 keys=""):
        self.path = str(path)
        self.template = template
        self.keys = keys  # more lines of its configuration
        self.sums = {}  # name -> (size, adler32)
        self.names = set()  # all that a plain listing shows
        self.frames = set()
        self._random = random.Random(seed)
        self._sizes = sizes
        os.makedirs(self.path)
        self.add(frames)
        if ordinary:
            for name in ("topology.top", "notes of the run.txt", "f01", "f", "f1.bak", "g7"):
                self.write(name, 777)
            os.mkdir(os.path.join(self.path, "restart"))
            self.names.add("restart")

    def add(self, seqs):
        """New frames, each under its number (or that many, from 0)."""
        seqs = range(seqs) if isinstance(seqs, int) else seqs
        for position, seq in enumerate(seqs):
            name = self.template.format(seq=seq)
            self.write(name, self._sizes[position % len(self._sizes)])
            self.frames.add(name)

    def rewrite(self, name):
        """New bytes of the same size in a new file, as a simulation that is run again does."""
        self.write(name, self.sums[name][0])

    def write(self, name, size):
        data = self._random.randbytes(size)
        path = self.file(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = self.path + ".new"  # beside the dataset: a listing never shows it
        with open(new, "wb") as file:
            file.write(data)
        os.rename(new, path)
        self.sums[name] = (size, zlib.adler32(data))
        self.names.add(name)

    def file(self, name):
        return os.path.join(self.path, name)

    def bytes_of(self, names):
        return sum(self.sums[name][0] for name in names)
