"""The files on disk below a directory, as a dictionary that can be compared."""
import hashlib
import os
import stat


def attributes(path):
    names = sorted(os.listxattr(path, follow_symlinks=False))
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}


def entry(path, with_times):
    status = os.lstat(path)
    seen = {"mode": oct(status.st_mode), "owner": (status.st_uid, status.st_gid),
            "attributes": attributes(path)}
    if stat.S_ISLNK(status.st_mode):
        seen["target"] = os.readlink(path)
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            seen["bytes"] = hashlib.sha256(file.read()).hexdigest()
        seen["size"], seen["links"] = status.st_size, status.st_nlink
    if with_times:
        seen["mtime"] = status.st_mtime_ns
    return seen


def tree(top, with_times=True):
    """Every name below `top` with all that a copy should have kept."""
    seen = {}
    for directory, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(directory, name)
            seen[os.path.relpath(path, top)] = entry(path, with_times)
    return seen


def difference(plain, other):
    """The first names whose entries differ, in words."""
    lines = []
    for name in sorted(plain.keys() | other.keys()):
        a, b = plain.get(name), other.get(name)
        if a is None or b is None:
            lines.append(f"{name}: only {'with' if a is None else 'without'} the shim")
        elif a != b:
            lines += [f"{name}: {key} {a.get(key)} without, {b.get(key)} with the shim"[:200]
                      for key in a.keys() | b.keys() if a.get(key) != b.get(key)]
    return "\n  ".join(["", *lines[:8]])
