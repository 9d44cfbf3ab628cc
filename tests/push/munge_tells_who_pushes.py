"""With MUNGE on the machine no key is needed. The daemon's own user pushes, and others are refused; without a
running munged everybody is refused. Runs in a mount namespace with a munged of its own."""
import os
import socket
import subprocess
import sys

from network import PUSH_FRAMES, Content, Nodes, Stranger, check_held, expect, listen, push, run, wait_until
from nodes import skip

BY_MUNGE = 4
INSIDE = "ZAZEN_TEST_INSIDE"
SOCKET = "/run/munge/munge.socket.2"
MUNGED = "/usr/sbin/munged"
if os.geteuid() != 0 or not os.path.exists(MUNGED):
    skip("needs root and munge")
if INSIDE not in os.environ:
    os.environ[INSIDE] = "1"
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    if probe.returncode != 0:
        skip("no mount namespaces")
    os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
os.makedirs("/run/munge", exist_ok=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run/munge"], check=True)
os.makedirs("/run/munge/state", mode=0o700)
key = "/run/munge/state/key"
with open(key, "wb") as file:
    file.write(os.urandom(1024))
os.chmod(key, 0o400)
munged = subprocess.Popen([MUNGED, "--foreground", "--force", "--key-file", key, "--num-threads", "2",
                           "--pid-file", "/run/munge/state/pid", "--seed-file", "/run/munge/state/seed",
                           "--log-file", "/run/munge/state/log"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    wait_until(lambda: os.path.exists(SOCKET) and
               subprocess.run(["munge", "-n"], capture_output=True).returncode == 0, "munged")
    with Nodes(1) as nodes:
        node = nodes[0]
        data = nodes.dataset(frames=0)
        content = Content(nodes, {"f1": 1000, "f2": 300_000})
        listen(node, [data])
        expect("proof=munge" in node.said(), node.said())
        answers, done = push(nodes, node.address, None, data, "bytes", content.words())
        expect(answers == {"f1": 0, "f2": 0}, f"{done}")
        check_held(node, data, content)
        node.ctl("evict", "--all").succeeded()

        # Loopback alone proves no user here.
        with Stranger(node.address) as stranger:
            expect(stranger.introduce() != 0, "a stranger was let in")

        # Another user's credential says so.
        program = "/run/munge/push_frames"
        subprocess.run(["cp", PUSH_FRAMES, program], check=True)
        subprocess.run(["cp", content.file("f1"), "/run/munge/f1"], check=True)
        other = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program,
                     node.address, "-", data.path, "bytes", "f1", "/run/munge/f1"], nodes.env, seconds=60)
        expect(other.status == 3 and "refused" in other.stderr, f"{other}")
        check_held(node, data, content, [])
        expect("65534" in node.said(), node.said())

        munged.terminate()
        munged.wait()
        answers, done = push(nodes, node.address, None, data, "bytes", content.words())
        expect(answers == {} and done.status == 3, f"{done}")
        check_held(node, data, content, [])

        # A munged that takes questions and never answers. At most 32 sessions ask it, and a new one ends the
        # oldest. The listener waits for none: it greets the last before the first has ended.
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(SOCKET)
            silent.listen(128)
            silent.settimeout(30)
            refused = node.said().count("push_refused")
            strangers, questions = [], []
            while len(strangers) < 45:
                strangers.append(Stranger(node.address))
                introduction = strangers[-1].introduction(method=BY_MUNGE, credential=b"none")
                expect(introduction is not None, "no hello")
                strangers[-1].socket.sendall(introduction)
                questions.append(silent.accept())
            expect(node.said().count("push_refused") == refused, f"it waited: {node.said()}")
            for question, _ in questions:
                question.close()
            os.unlink(SOCKET)
        for stranger in strangers:
            stranger.socket.close()
finally:
    munged.kill()
    munged.wait()
    subprocess.run(["umount", "/run/munge"], check=False)
