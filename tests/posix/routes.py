"""A frame, and nothing else, is found by absolute, relative and linked paths, with templates that
pad, nest, or put the number in a directory. Stale content is never served."""
import os

from node import FRAMES, Node, expect


def hits_of(node, argv, **more):
    node.report.unlink(missing_ok=True)
    done = node.run(argv, node.shim(ZAZEN_REPORT=str(node.report), **more))
    expect(done.returncode == 0, f"{argv}: {done}")
    return node.read_report()["hits"]


def check_template(template, relative):
    with Node(template) as node:
        node.start_daemon()
        node.warm()
        expect(hits_of(node, ["cat", node.frame(3)]) == 1, f"{template}: absolute")
        name = str(node.frame(3).relative_to(node.dataset))
        for directory, path in relative:
            script = f'cd "{directory}" && exec cat "{path.replace("NAME", name)}"'
            script = script.replace("DATASET", str(node.dataset))
            expect(hits_of(node, ["sh", "-c", script]) == 1, f"{template}: {script}")
        for path in (node.root / "other" / "f3", node.root / "f3", node.dataset / "notes.txt"):
            expect(hits_of(node, ["cat", path]) == 0, f"{template}: {path} is no frame")


RELATIVE = [("DATASET", "NAME"), ("DATASET", "./NAME"), ("DATASET/..", "sim1/NAME"),
            ("DATASET/..", "link/NAME"), ("DATASET/../link", "NAME"), ("/", "DATASET//NAME")]


def check_rewritten(options):
    """Content that was replaced behind the shim's back, and then read through it."""
    with Node(options=options) as node:
        node.start_daemon()
        node.warm()
        for seq in range(FRAMES):
            node.frame(seq).write_bytes(b"new")
        for read in (["cat", *map(node.frame, range(FRAMES))],
                     ["sh", "-c", 'for f; do cat "$f"; done', "sh", *map(node.frame, range(FRAMES))]):
            done = node.run(read, node.shim())
            expect(done.stdout == b"new" * FRAMES, f"{options}: old content")


def check_wait():
    """fill = "wait": the copy is there when open returns, and under the same number."""
    with Node(options='fill = "wait"\n') as node:
        node.start_daemon()
        # Only a program without the shim is told that it is the copy.
        script = "import os,subprocess,sys; f = open(sys.argv[1], 'rb'); " \
                 "print(f.fileno(), len(f.read()), flush=True); del os.environ['LD_PRELOAD']; " \
                 "subprocess.run(['readlink', f'/proc/{os.getpid()}/fd/3'])"
        done = node.run(["/usr/bin/python3", "-c", script, node.frame(9)], node.shim())
        expect(done.stdout.decode().splitlines() == ["3 9000", str(node.copy_of(node.frame(9)))],
               f"{done}")


os.umask(0o022)
check_template("f{seq}", RELATIVE)
check_template("run1/f{seq}", RELATIVE)
check_template("{seq}/traj.dcd", RELATIVE[:5])
check_rewritten("")
check_rewritten('validate = "always"\n')
check_wait()
