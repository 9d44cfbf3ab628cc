"""Frames of many kinds, each written by the library that real ones come from, or by hand where
that takes a few lines. The same bytes each time.

A kind has a template, a function that writes one frame, and perhaps one that writes ordinary files
beside them.
"""
import dataclasses
import gzip
import random
import sqlite3
import struct
import typing
import zlib

ATOMS = 24


@dataclasses.dataclass(frozen=True)
class Kind:
    template: str
    write: typing.Callable
    beside: typing.Callable = lambda directory: None


def write_binary(path, seq):
    """Sizes from nothing to several pages, and every fifth one with a hole in it."""
    data = random.Random(seq).randbytes(seq * 1000)
    with open(path, "wb") as file:
        file.write(data)
        if seq % 5 == 4:
            file.seek(200_000)
            file.write(data)


def text(seq):
    words = random.Random(seq)
    return "".join(f"{seq}\t{words.choice(('alpha', 'beta', 'gamma'))}\t{words.random():.6f}\n"
                   for _ in range(seq * 20))


def write_text(path, seq):
    path.write_text(text(seq))


def write_gzip(path, seq):
    path.write_bytes(gzip.compress(text(seq).encode(), mtime=0))


def positions(seq):
    """Where the atoms are, in nanometres."""
    place = random.Random(seq)
    return [[round(place.uniform(0, 3), 3) for _ in range(3)] for _ in range(ATOMS)]


def write_hdf5(path, seq):
    import h5py
    with h5py.File(path, "w") as file:
        file["positions"] = positions(seq)
        file["step"] = seq
        file["positions"].attrs["unit"] = "nm"
        file.create_dataset("packed", data=list(range(seq * 10 + 5)), compression="gzip",
                            chunks=(5,))


def write_netcdf(path, seq):
    import netCDF4
    version = "NETCDF4" if seq % 2 else "NETCDF3_CLASSIC"
    with netCDF4.Dataset(str(path), "w", format=version) as file:
        file.createDimension("atom", ATOMS)
        file.createDimension("xyz", 3)
        file.createVariable("positions", "f4", ("atom", "xyz"))[:] = positions(seq)
        file.step = seq


def write_sqlite(path, seq):
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("create table atoms (number integer primary key, x, y, z)")
        connection.executemany("insert into atoms (x, y, z) values (?, ?, ?)", positions(seq))
    connection.close()


def write_png(path, seq):
    """An 8-bit grey image of 20 x 10 points."""
    def chunk(name, body):
        return (struct.pack(">I", len(body)) + name + body
                + struct.pack(">I", zlib.crc32(name + body)))
    rows = b"".join(b"\0" + bytes((seq * 10 + x * y) % 256 for x in range(20)) for y in range(10))
    header = struct.pack(">IIBBBBB", 20, 10, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_pdb(path, seq):
    lines = [f"HEADER    FRAME {seq}\n", f"CRYST1{30:9.3f}{30:9.3f}{30:9.3f}"
             f"{90:7.2f}{90:7.2f}{90:7.2f} P 1           1\n"]
    for number, place in enumerate(positions(seq), 1):
        x, y, z = (10 * c for c in place)
        lines.append(f"ATOM  {number:5d}  CA  ALA A{number:4d}    {x:8.3f}{y:8.3f}{z:8.3f}"
                     "  1.00  0.00           C\n")
    path.write_text("".join(lines) + "END\n")


def write_xtc(path, seq):
    import numpy
    from mdtraj.formats import XTCTrajectoryFile
    with XTCTrajectoryFile(str(path), "w") as file:
        box = 3 * numpy.eye(3, dtype="f4")
        file.write(numpy.array([positions(seq)], "f4"), time=numpy.array([seq], "f4"),
                   step=numpy.array([seq], "i4"), box=box[None])


def write_dcd(path, seq):
    import numpy
    from mdtraj.formats import DCDTrajectoryFile
    with DCDTrajectoryFile(str(path), "w") as file:
        file.write(10 * numpy.array([positions(seq)], "f4"), cell_lengths=[[30, 30, 30]],
                   cell_angles=[[90, 90, 90]])


def write_topology(directory):
    write_pdb(directory / "topology.pdb", 0)


KINDS = {
    "binary": Kind("f{seq}", write_binary),
    "text": Kind("f{seq}", write_text),
    "gzip": Kind("f{seq}.gz", write_gzip),
    "hdf5": Kind("f{seq}.h5", write_hdf5),
    "netcdf": Kind("f{seq}.nc", write_netcdf),
    "sqlite": Kind("f{seq}.db", write_sqlite),
    "png": Kind("f{seq}.png", write_png),
    "pdb": Kind("f{seq}.pdb", write_pdb),
    "xtc": Kind("f{seq}.xtc", write_xtc, write_topology),
    "dcd": Kind("f{seq}.dcd", write_dcd, write_topology),
}
