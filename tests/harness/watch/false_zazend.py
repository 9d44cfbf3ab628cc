"""Stands for a zazend that does one thing, forbidden or allowed. With it,
zazend_touches_no_origin.py proves that the watch sees all that is forbidden.

    WATCHED_ZAZEND=/usr/bin/python3 watched_zazend false_zazend.py --config FILE ACTION
"""
import array
import ctypes
import os
import socket
import sys
import threading
import tomllib

PR_SET_NAME = 15


def read_config(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def with_client(action):
    """Calls action(accepted, client) when the client has sent a byte and a descriptor."""
    address = f"/proc/self/fd/{os.open(runtime, os.O_PATH)}/socket"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen()
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(address)
    client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    accepted, _ = listener.accept()
    action(accepted, client)


def with_pair(action):
    ours, theirs = socket.socketpair()
    theirs.send(b"x")
    action(ours)


def set_name(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def in_child(action, name):
    child = os.fork()
    if child == 0:
        set_name(name)
        action()
        os._exit(0)
    os.waitpid(child, 0)


def in_thread(action):
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def relative_stat(directory, name):
    at = os.open(directory, os.O_PATH)
    os.stat(name, dir_fd=at)


def work_as_a_worker():
    """Calls that the forker and its children may make."""
    os.stat(frame)
    os.setresuid(-1, -1, -1)
    in_child(lambda: open(frame, "rb").read(), "zazend-worker")


config_file, action = sys.argv[2:]
config = read_config(config_file)
os.chdir("/")
cache, runtime, origin = config["cache"], config["runtime"], config["dataset"][0]["path"]
frame = f"{origin}/f1"
above, name = os.path.split(origin)


def add_dataset():
    with open(config_file, "a") as file:
        file.write(f'[[dataset]]\npath = "{above}/late"\n')
    read_config(config_file)


ACTIONS = {
    # Allowed.
    "copies": lambda: (os.stat(cache + frame), relative_stat(cache + origin, "f1")),
    "neighbours": lambda: (os.stat(above), os.path.exists(origin + "0")),
    "accept": lambda: with_client(lambda accepted, client: accepted.send(b"x")),
    "forker": lambda: in_child(work_as_a_worker, "zazend-forker"),
    # Forbidden.
    "stat": lambda: os.stat(origin),
    "open": lambda: os.open(frame, os.O_RDONLY),
    "missing": lambda: os.path.exists(f"{origin}/f7"),
    "list": lambda: os.listdir(origin),
    "relative": lambda: relative_stat(above, f"../{os.path.basename(above)}/{name}/f1"),
    "directory": lambda: (os.chdir(origin), os.readlink("f2")),
    "link": lambda: os.open(f"{runtime}/link", os.O_PATH),
    "rename": lambda: os.rename(f"{runtime}/link", f"{origin}/f3"),
    "thread": lambda: in_thread(lambda: os.stat(frame)),
    "child": lambda: in_child(lambda: os.stat(frame), "zazend-worker"),
    "name": lambda: (set_name("zazend-forker"), os.stat(frame)),
    "reload": lambda: (add_dataset(), os.path.exists(f"{above}/late/f1")),
    "process": lambda: os.path.exists(f"/proc/{os.getppid()}/fd/0"),
    "read": lambda: with_client(lambda accepted, client: os.read(accepted.fileno(), 1)),
    "peek": lambda: with_client(lambda accepted, client: accepted.recv(1, socket.MSG_PEEK)),
    "receive": lambda: with_client(lambda accepted, client: socket.recv_fds(accepted, 1, 1)),
    "answer": lambda: with_client(lambda accepted, client: (accepted.send(b"x"), client.recv(1))),
    "pair": lambda: with_pair(lambda ours: ours.recv(1)),
    "user": lambda: os.setresuid(-1, -1, -1),
}
ACTIONS[action]()
