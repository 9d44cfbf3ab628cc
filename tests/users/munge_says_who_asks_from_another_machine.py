"""With MUNGE a user of another machine may ask what the same user may ask here, and nothing else. A credential
is good for one message in one session: the listener, or a holder of the key, cannot use it for another."""
import errno
import hashlib
import hmac
import os
import shutil
import subprocess
import sys

from messages import REQUESTS, STATUS, example, packet
from network import BY_KEY, PUSH_FRAMES, Stranger, expect, free_port, make_key, run, session_key, wait_until
from nodes import ZAZENCTL, skip, write_config
from people import ALICE, BOB, CAROL, SystemNode

BY_MUNGE = 4
INSIDE = "ZAZEN_TEST_INSIDE"
SOCKET = "/run/munge/munge.socket.2"
MUNGED = "/usr/sbin/munged"
if os.geteuid() != 0 or not os.path.exists(MUNGED):
    skip("needs root and munge")
if INSIDE not in os.environ:
    os.environ[INSIDE] = "1"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        skip("no mount namespaces")
    os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
os.makedirs("/run/munge", exist_ok=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run/munge"], check=True)
os.makedirs("/run/munge/state", mode=0o700)
with open("/run/munge/state/key", "wb") as file:
    file.write(os.urandom(1024))
os.chmod("/run/munge/state/key", 0o400)
munged = subprocess.Popen([MUNGED, "--foreground", "--force", "--key-file", "/run/munge/state/key",
                           "--num-threads", "2", "--pid-file", "/run/munge/state/pid",
                           "--seed-file", "/run/munge/state/seed", "--log-file", "/run/munge/state/log"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def digest(binding, message):
    return hmac.new(binding, message, hashlib.sha256).digest()


class Holder(Stranger):
    """A holder of the key, who has seen credentials of users."""
    def __init__(self, address, secret):
        super().__init__(address)
        introduction = self.introduction(secret, BY_KEY)
        size = len(introduction) - len(address)
        session = session_key(secret, self.hello, introduction[:size], address.encode())
        self.binding = digest(session, b"requests")
        self.socket.sendall(introduction)
        expect(self.receive(40)[4:8] == bytes(4), "the key is good")


def credential(user, payload, reader=0):
    made = subprocess.run(user.command(["munge", f"--restrict-uid={reader}"]), input=payload, check=True,
                          stdout=subprocess.PIPE)
    return made.stdout.strip()


MARK = b"zazen request\n"
ROWS = {row.name: row for row in REQUESTS}
try:
    wait_until(lambda: os.path.exists(SOCKET) and
               subprocess.run(["munge", "-n"], capture_output=True).returncode == 0, "munged")
    with SystemNode() as system:
        node = system.node
        data = system.dataset(8, sizes=(5000,))
        key = make_key(system.nodes)
        with open(key, "rb") as file:
            secret = file.read()
        address = f"127.0.0.1:{free_port()}"
        system.start(extra=f'listen = "{address}"\nkey_file = "{key}"\n')
        files = [data.file(name) for name in sorted(data.frames)]

        def refill():
            system.read(ALICE, files)
            system.wait_for_copies(data, data.frames)

        # Users do not have the key. Root has it here.
        desks = {}
        for name, line in (("users.toml", ""), ("root.toml", f'key_file = "{key}"\n')):
            desks[name] = system.nodes.path(name)
            write_config(desks[name], [data], f'node = "desk"\ncache = "{system.nodes.path("none")}"\nruntime = '
                         f'"{system.nodes.path("nowhere")}"\npeers = ["{address}"]\n{line}')
            os.chmod(desks[name], 0o644)

        def asked(user, *words, desk="users.toml"):
            argv = [ctl, "--config", desks[desk], *words, "--all" if words[0] != "evict" else "--nodes=all"]
            return run(user.command(argv) if user else argv, system.nodes.env, cwd="/")

        ctl = shutil.copy(ZAZENCTL, system.directory)
        refill()
        for user in (ALICE, BOB, CAROL, None):
            expect("healthy" in asked(user, "status").succeeded().stdout, f"{user} asks for the status")
            expect(asked(user, "ls", data.path).succeeded().stdout.split()[-4:-3] == ["8"], f"{user} lists")
        os.chmod(data.path, 0o700)
        done = asked(CAROL, "ls", data.path)
        expect(done.status == 1 and address.split(":")[0] in done.stderr, f"{done}")
        expect(asked(ALICE, "ls", data.path).status == 0, "alice lists her own")
        os.chmod(data.path, 0o755)
        for user in (BOB, CAROL):
            done = asked(user, "evict", data.path)
            expect(done.status == 1 and "only root and the owner" in done.stderr, f"{user}: {done}")
        expect(node.held(data) == 8, "frames were evicted")
        asked(ALICE, "evict", data.path, "--frames", "0-1").succeeded()
        expect(node.held(data) == 6, "alice evicts her own")
        asked(None, "evict", data.path, "--frames", "2", desk="root.toml").succeeded()
        expect(node.held(data) == 5, "root evicts")
        refill()

        # A user who may ask may not push.
        program = system.nodes.path("push_frames")
        subprocess.run(["cp", PUSH_FRAMES, program], check=True)
        done = run(ALICE.command([program, address, "-", data.path, "natives"]), system.nodes.env, cwd="/")
        expect(done.status == 3, f"{done}")
        wait_until(lambda: "it may ask, but not push" in node.said(), "the refusal in the log")

        # The key alone opens the status only, and no credential makes it more than one message.
        evict = example(ROWS["evict"], data.path, b"", flags=0)
        pin = example(ROWS["pin"], data.path, b"", flags=0)
        with Holder(address, secret) as holder:
            expect(holder.ask(evict)[0] == errno.EPERM, "the key evicts")
            good = credential(ALICE, MARK + digest(holder.binding, pin))
            expect(holder.ask(evict, good)[0] == errno.ECONNRESET, "a credential for another message")
            good = credential(ALICE, MARK + digest(os.urandom(32), evict))
            expect(holder.ask(evict, good)[0] == errno.ECONNRESET, "a credential of another session")
            good = credential(ALICE, digest(holder.binding, evict))
            expect(holder.ask(evict, good)[0] == errno.EACCES, "a credential for a session")
            good = credential(ALICE, MARK + digest(holder.binding, evict), reader=ALICE.uid)
            expect(holder.ask(evict, good)[0] == errno.EACCES, "a credential for another reader")
            expect(holder.ask(evict, b"MUNGE:AAAA:")[0] == errno.EACCES, "no credential at all")
            good = credential(BOB, MARK + digest(holder.binding, evict))
            expect(holder.ask(evict, good)[0] == errno.EACCES, "bob does not own the directory")
            expect(node.held(data) == 8, "frames were evicted")
            written = example(ROWS["written"], data.path, b"f1")
            good = credential(ALICE, MARK + digest(holder.binding, written))
            expect(holder.ask(written, good)[0] == errno.EOPNOTSUPP, "a message that does not travel")
            good = credential(ALICE, MARK + digest(holder.binding, evict))
            expect(holder.ask(evict, good)[0] == 0 and node.held(data) == 0, "the right credential")
            refill()
            expect(holder.ask(evict, good)[0] == errno.EACCES, "the same credential once more")
            expect(holder.ask(packet(STATUS, flags=0))[0] == 0, "the session goes on")
        request = credential(ALICE, MARK + digest(bytes(32), evict))
        with Stranger(address) as stranger:
            introduction = stranger.introduction(digest(bytes(32), evict), BY_MUNGE, request)
            stranger.socket.sendall(introduction)
            expect(stranger.receive(40)[4:8] == errno.EACCES.to_bytes(4, "little"), "a request's opens a session")
        expect(node.held(data) == 8, "frames were evicted")
finally:
    munged.kill()
    munged.wait()
    subprocess.run(["umount", "/run/munge"], check=False)
