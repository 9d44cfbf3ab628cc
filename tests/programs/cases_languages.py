"""Programs of this suite's own, in the languages that analyses are written in."""
from case import copies, looks, on, reads

PYTHON = "/usr/bin/python3"


def python(way):
    return f"{PYTHON} {{readers}}/python_ways.py {way} {{out}}"


def numpy(way):
    return f"{PYTHON} {{readers}}/numpy_ways.py {way}"


PROGRAMS = {
    "python_open": on("binary", reads(python("open")), reads(python("descriptors"))),
    "python_scandir": on("binary", looks(python("scandir")), looks(python("scandir_of_fd"))),
    "python_walk": on("binary", looks(python("walk")), looks(python("fwalk"))),
    "python_glob": on("binary", looks(python("glob"))),
    "python_pathlib": on("binary", reads(python("pathlib"), links=1)),
    "python_copytree": on("binary", copies(python("copytree"), links=1)),
    "python_mmap": on("binary", reads(python("mmap"))),
    "python_multiprocessing": on("binary", reads(python("multiprocessing"))),
    "python_subprocess": on("binary", reads(python("subprocess"))),
    "python_sendfile": on("binary", reads(python("sendfile"))),
    "python_tarfile": on("binary", reads(python("tarfile")), reads(python("filecmp"))),
    "numpy_fromfile": on("binary", reads(numpy("fromfile"), links=2)),
    "numpy_memmap": on("binary", reads(numpy("memmap"))),
    "numpy_loadtxt": on("text", reads(numpy("genfromtxt"))),
    "fortran": on("text", reads("{built}/fortran_reader")),
    "cxx_ifstream": on("binary", reads("{built}/cxx_reader {data}", links=1),
                       reads("{built}/cxx_reader .", links=1)),
}
