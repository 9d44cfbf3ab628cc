"""doctor PROGRAM: its verdict agrees with a run of the program behind the shim."""
import json
import os
import shutil
import struct

from nodes import PROGRAMS, PYTHON, ZAZENCTL, Nodes
from processes import expect, run

with Nodes(1) as nodes:
    data = nodes.dataset(frames=4)
    nodes.start()
    node = nodes[0]
    frame = data.file("f1")

    def doctor(program):
        done = node.ctl("doctor", "--json", program)
        found = json.loads(done.stdout)["program"]
        failed = [each for each in found["findings"] if each["level"] == "fail"]
        expect(done.status == (4 if failed else 0), f"{done}")
        expect(found["reached"] == (not failed), f"{done}")
        expect(all(each["hint"] for each in found["findings"] if each["level"] != "ok"), f"{done}")
        return found

    def opens():
        status = node.status()
        return status["hits"] + status["misses"]

    def is_reached(program, *words):
        """Runs it as people do: has the shim seen it open a frame?"""
        before = opens()
        run([ZAZENCTL, "--config", node.config, "run", "--", program, *words], nodes.env)
        return opens() > before

    def make(name, content, mode=0o755):
        path = nodes.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def copy(name, **attributes):
        path = shutil.copy(f"{PROGRAMS}/read_one_c", nodes.path(name))
        if "owner" in attributes:
            os.chown(path, attributes["owner"], attributes["owner"])
        os.chmod(path, attributes.get("mode", 0o755))
        return path

    def check(program, reached, word, words=(frame,), runs=True):
        found = doctor(program)
        expect(found["reached"] == reached, f"{program}: {found}")
        expect(any(word in each["text"] for each in found["findings"]), f"{word} in {found}")
        if runs:
            expect(is_reached(program, *words) == reached, f"{program}: but it is not so: {found}")
        return found

    check(f"{PROGRAMS}/read_one_c", True, ": dynamic")
    check("cat", True, "/cat: dynamic")
    check(f"{PROGRAMS}/read_one_static", False, "statically linked")
    check(f"{PROGRAMS}/read_one_static_pie", False, "static-pie")
    check(f"{PROGRAMS}/read_one_go", False, "a Go program", runs=False)  # it only looks like one

    # Bits that change the identity, and bits that do not.
    check(copy("own", mode=0o4755), True, "without effect for you")
    if os.geteuid() == 0:
        nosuid = os.statvfs(nodes.directory).f_flag & os.ST_NOSUID
        for mode in (0o4755, 0o2755):
            check(copy("other", owner=54321, mode=mode), bool(nosuid), "set")
        check(copy("other", owner=54321, mode=0o2705), True, "dynamic")  # no setgid without x
        capable = copy("capable")
        os.setxattr(capable, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
        check(capable, True, "file capabilities")

    # Scripts stand for their interpreters.
    bash = make("script.bash", '#!/bin/bash\nread -r line < "${@: -1}"\n')
    check(bash, True, "run by /bin/bash")
    python = make("script.py", f"#!{PYTHON} -u\nimport sys\nopen(sys.argv[1], 'rb').read()\n")
    found = check(python, True, f"run by {PYTHON}")
    through_env = "#!/usr/bin/env -S {} " + PYTHON + " -u\nimport sys\nopen(sys.argv[1], 'rb')\n"
    check(make("env.py", through_env.format("A=b")), True, f"run by {PYTHON}")
    check(make("clean.py", through_env.format("-i")), False, "clears LD_PRELOAD")
    check(make("lost.sh", "#!/usr/bin/env no-such-interpreter\n"), False, "not in PATH")
    check(make("static.sh", f"#!{PROGRAMS}/read_one_static\n"), False, "statically linked")
    check(make("twice", f"#!{bash}\n"), True, "run by /bin/bash")
    check(make("no-line", 'read -r line < "$1"\n'), True, "/bin/sh is tried")

    # Files that are no programs, or no good ones.
    with open(f"{PROGRAMS}/read_one_c", "rb") as file:
        whole = file.read()
    check(make("truncated", whole[:700]), False, "damaged ELF")
    head32 = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52,
                                                       32, 0, 0, 0, 0)
    check(make("x86", head32), False, "32-bit x86; the shim is 64-bit x86-64")
    arm = bytearray(whole)
    arm[18:20] = struct.pack("<H", 183)
    check(make("aarch64", bytes(arm)), False, "64-bit aarch64")
    loader = whole.replace(b"/lib64/ld-linux-x86-64.so.2\0", b"/lib/ld-musl-x86_64.so.1\0\0\0\0")
    check(make("musl", loader), False, "musl")
    check(make("plain", whole, 0o644), False, "not executable" if os.geteuid() else "")
    check(nodes.directory, False, "a directory")
    check("/nowhere/program", False, "No such file")
    check("no-such-program", False, "not found in PATH")

    # Which MPI.
    os.mkdir(nodes.path("out"))
    arguments = (data.path, nodes.path("out"))
    check(f"{PROGRAMS}/read_one_c", True, "none; nothing is divided", runs=False)
    found = check(f"{PROGRAMS}/list_and_read_c", True, "Open MPI 4: the frames are", arguments)
    expect(found["mpi"] == "Open MPI 4", f"{found}")
    check(f"{PROGRAMS}/list_and_read_f08", True, "Open MPI 4, Fortran: the frames are", arguments)
    check(PYTHON, True, "Open MPI 4 through mpi4py", ("-c", f"open({frame!r})"))
    if os.path.exists(f"{PROGRAMS}/mpich/list_and_read_c"):
        found = check(f"{PROGRAMS}/mpich/list_and_read_c", True, "MPICH: the frames are", arguments)
        expect(found["mpi"] == "MPICH", f"{found}")
        check(f"{PROGRAMS}/mpich/list_and_read_f08", True, "MPICH, Fortran: the frames", arguments)
    with open(f"{PROGRAMS}/list_and_read_c", "rb") as file:
        mpich = make("mpich", file.read().replace(b"libmpi.so.40\0", b"libmpi.so.12\0"))
    found = check(mpich, True, "MPICH or Open MPI 1, for which there is no plug-in", runs=False)
    text = node.ctl("doctor", f"{PROGRAMS}/read_one_static").stdout
    expect("hint: LD_PRELOAD cannot reach it" in text and "does not reach it" in text, text)
