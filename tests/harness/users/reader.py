"""Prints as JSON what this user gets of each file that is named: with the shim and without it,
it must be the same."""
import hashlib
import json
import os
import sys


def attempt(call):
    try:
        return call()
    except OSError as error:
        return {"errno": error.errno}


def content(path):
    with open(path, "rb", buffering=0) as file:
        st = os.fstat(file.fileno())
        digest = hashlib.sha256(file.read()).hexdigest()
    return [digest, st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_ino, st.st_ctime_ns]


def look(path):
    st = attempt(lambda: os.stat(path))
    if not isinstance(st, dict):
        st = [st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_ino, st.st_dev, st.st_mtime_ns,
              st.st_ctime_ns]
    got = attempt(lambda: content(path))
    seen = {"stat": st, "readable": os.access(path, os.R_OK), "there": os.access(path, os.F_OK),
            "writable": os.access(path, os.W_OK)}
    seen.update(got if isinstance(got, dict) else {"bytes": got})
    return seen


json.dump({path: look(path) for path in sys.argv[1:]}, sys.stdout)
