"""Reads the dataset in the current directory in one of Python's ways and prints what it saw."""
import filecmp
import glob
import hashlib
import io
import mmap
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

OUT = sys.argv[2]
FRAMES = [f"f{seq}" for seq in range(22)]


def status_line(status):
    return [status.st_mode, status.st_ino, status.st_dev, status.st_nlink, status.st_uid,
            status.st_gid, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
            status.st_blocks, status.st_blksize]


def digest(data):
    return hashlib.md5(data).hexdigest()


def way_open():
    for name in FRAMES:
        with open(name, "rb") as file:
            print(name, digest(file.read()), status_line(os.fstat(file.fileno())))
    with open(os.path.abspath("f7"), "rb", buffering=0) as file:
        file.seek(-100, os.SEEK_END)
        print(file.tell(), digest(file.readall()))
    with open("f8", encoding="latin-1", newline="") as file:
        print(sum(len(line) for line in file))
    for name in ("f404", "f55"):
        try:
            open(name)
        except OSError as error:
            print(error)


def way_descriptors():
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    for name in FRAMES[1:]:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
        other = os.dup(fd)
        print(name, fd, other, digest(os.pread(fd, 500, 300)), os.lseek(other, 0, os.SEEK_END),
              os.get_inheritable(fd), status_line(os.fstat(other)))
        os.close(fd)
        os.close(other)
    print([os.stat(name, dir_fd=directory).st_ino for name in FRAMES])
    print(os.access("f3", os.W_OK), os.access("f3", os.X_OK), os.path.samefile("f8", "f9"))
    fd = os.open("f3", os.O_RDONLY)
    print(os.listxattr(fd), os.listxattr("f3"), os.getxattr(fd, "user.experiment"))
    print(os.readlink(f"/proc/self/fd/{fd}"), os.path.realpath(f"/proc/self/fd/{fd}"))
    print(os.fstatvfs(fd).f_fsid == os.statvfs(".").f_fsid)


def show_entries(entries):
    for entry in sorted(entries, key=lambda entry: entry.name):
        print(entry.path, entry.inode(), entry.is_dir(), entry.is_file(), entry.is_symlink(),
              status_line(entry.stat(follow_symlinks=False)))


def way_scandir():
    with os.scandir() as entries:
        show_entries(entries)
    with os.scandir(os.getcwd()) as entries:
        show_entries(entries)
    print(os.listdir(), os.listdir(os.fsencode(os.getcwd())))


def way_scandir_of_fd():
    directory = os.open(".", os.O_RDONLY)
    with os.scandir(directory) as entries:
        show_entries(entries)
    print(sorted(os.listdir(directory)))


def way_walk():
    for top in (".", os.getcwd()):
        for entry in os.walk(top, followlinks=True):
            print(entry)


def way_fwalk():
    for directory, folders, files, fd in os.fwalk("."):
        for name in sorted(files):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            print(directory, folders, name, status_line(status))


def way_glob():
    print(sorted(glob.glob("f*")))
    print(sorted(glob.glob(os.path.join(os.getcwd(), "**"), recursive=True)))
    print(sorted(glob.iglob("f[1-3]?")), glob.glob("f3"), glob.glob("f404"))


def way_pathlib():
    here = pathlib.Path.cwd()
    for path in sorted(here.glob("f*")):
        if path.is_file():
            print(path, digest(path.read_bytes()), path.owner(), path.resolve())
            print(status_line(path.lstat()))
    print(sorted(here.rglob("*")), sorted(here.iterdir()) == sorted(here.glob("*")))
    print((here / "f8").samefile(here / "f9"), (here / "f55").is_dir(), (here / "f77").is_symlink())


def way_copytree():
    shutil.copytree(".", os.path.join(OUT, "links"), symlinks=True)
    shutil.copytree(os.getcwd(), os.path.join(OUT, "files"))
    shutil.copy2("f3", OUT)
    print(shutil.disk_usage("f3").total == shutil.disk_usage(".").total)


def way_mmap():
    for name in FRAMES[1:]:
        with open(name, "rb") as file:
            area = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            print(name, len(area), area.size(), digest(area[:]), area.find(b"\0\0"))
        fd = os.open(name, os.O_RDONLY)
        private = mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE)
        os.close(fd)
        private[0:3] = b"new"
        print(digest(private[:]))


def read_one(name):
    with open(name, "rb") as file:
        return name, digest(file.read()), status_line(os.stat(name))


def way_multiprocessing():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            for line in pool.map(read_one, FRAMES):
                print(method, *line)


def way_subprocess():
    print(subprocess.run(["md5sum", *FRAMES], capture_output=True, text=True, check=True).stdout)
    with open("f5", "rb") as file:
        print(subprocess.run(["wc", "-c"], stdin=file, capture_output=True, close_fds=True).stdout)
    print(subprocess.check_output("cat f6 | md5sum; ls -l f7", shell=True, text=True))
    pid = os.posix_spawn("/usr/bin/md5sum", ["md5sum"], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 0, "f8", os.O_RDONLY, 0)])
    print(os.waitpid(pid, 0)[1])
    with os.popen("head -c 30 f9 | od -c") as pipe:
        print(pipe.read())


def way_sendfile():
    target = os.open(os.path.join(OUT, "all"), os.O_RDWR | os.O_CREAT, 0o644)
    for name in FRAMES:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            print(os.sendfile(target, file.fileno(), 0, size) if size else 0, name)
    print(os.lseek(target, 0, os.SEEK_END), digest(os.pread(target, 10_000_000, 0)))
    os.remove(os.path.join(OUT, "all"))


def way_tarfile():
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in sorted(os.listdir()):
            tar.add(name)
    print(digest(archive.getvalue()))


def way_filecmp():
    print(filecmp.cmp("f8", "f9"), filecmp.cmp("f8", "f10"), filecmp.cmp("f3", "f3", shallow=False))


if __name__ == "__main__":  # a spawned worker imports this file
    globals()[f"way_{sys.argv[1]}"]()
