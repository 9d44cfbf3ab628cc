"""A replaced key file takes effect with a reload. The old key stays valid for `key_grace`. Then it
is refused, and its sessions are closed. An invalid file leaves the key in force."""
import os
import signal
import time

from network import (BY_KEY, NATIVES, Content, Nodes, Stranger, expect, listen, make_key, push, wait_until)

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    content = Content(nodes, {"f1": 1000})
    key = make_key(nodes)
    files = {letter: make_key(nodes, f"key-{letter}") for letter in "abcd"}

    def secret(letter):
        with open(files[letter], "rb") as file:
            return file.read()

    def put(content_of_key, mode=0o600):
        """As an operator does: the new file takes the old one's name."""
        with open(key + ".new", "wb") as file:
            file.write(content_of_key)
        os.chmod(key + ".new", mode)
        os.rename(key + ".new", key)

    def said(event):
        return node.said().count(f"event={event} ") + node.said().count(f"event={event}\n")

    def reload(grace="1h"):
        node.configure([data], f'listen = "{node.address}"\nkey_file = "{key}"\nkey_grace = "{grace}"\n')
        before = said("reloaded") + said("reload_failed")
        node.signal(signal.SIGHUP)
        wait_until(lambda: said("reloaded") + said("reload_failed") > before, "the reload")

    def is_taken(letter):
        answers, done = push(nodes, node.address, files[letter], data, "bytes", content.words())
        expect(answers == {"f1": 0} or (answers == {} and done.status == 3 and "refused" in done.stderr), f"{done}")
        return answers == {"f1": 0}

    def session(letter):
        writer = Stranger(node.address)
        expect(writer.introduce(secret(letter), BY_KEY) == 0, f"a session with key {letter}")
        return writer

    def is_served(writer):
        writer.socket.sendall(writer.message(NATIVES, writer.names(data.path, "")))
        header = writer.receive(32)
        if header is None:
            return False
        writer.receive(int.from_bytes(header[4:8], "little") + 32)
        return True

    put(secret("a"))
    listen(node, [data], key)
    expect(is_taken("a") and not is_taken("b"), "the first key")
    of_a = session("a")

    put(secret("b"))
    expect(not is_taken("b"), "without a reload")
    reload()
    expect(said("new_key") == 1 and "good until 20" in node.said(), node.said())
    wait_until(lambda: node.status()["network"]["old_key_until"], "the status to name the old key")
    left = node.status()["network"]["old_key_until"] - time.time()
    expect(3000 < left < 3700, f"{left} seconds are left")
    expect("\nold key   taken until 20" in node.ctl("status").stdout, f"{node.ctl('status')}")
    expect(is_taken("a") and is_taken("b") and not is_taken("c"), "both keys, and no other")
    expect(is_served(of_a), "a session of the old key")
    of_b = session("b")

    # Files that cannot be used.
    for broken, mode in ((secret("c"), 0o644), (b"short", 0o600), (None, 0)):
        if broken is None:
            os.unlink(key)
        else:
            put(broken, mode)
        before = said("reload_failed")
        reload()
        expect(said("reload_failed") == before + 1 and "stays in force" in node.said(), node.said())
        expect(is_taken("a") and is_taken("b") and not is_taken("c"), f"after {broken} {mode:o}")
    put(secret("b"))
    reload()
    expect(said("new_key") == 1 and is_served(of_a) and is_served(of_b), "the same key")

    # The operator ends it before its time.
    reload("off")
    expect(of_a.is_closed(), "the session of the old key is open")
    expect(not is_taken("a") and is_taken("b") and is_served(of_b), "the old key is gone")
    wait_until(lambda: said("old_key_ended") == 1 and said("push_closed") == 1, "the log to say so")
    wait_until(lambda: node.status()["network"]["old_key_until"] is None, "the status to say so")

    # It ends by itself.
    put(secret("c"))
    reload("1s")
    expect(is_taken("c"), "the third key")
    wait_until(lambda: not is_taken("b"), "the old key to end")
    expect(of_b.is_closed(), "a session of a key that has ended")
    wait_until(lambda: said("old_key_ended") == 2, "the log to say so")
    expect(is_taken("c"), "the third key")

    # At once, and from another file.
    put(secret("d"))
    reload("off")
    expect(said("new_key") == 3 and "refused from now on" in node.said(), node.said())
    expect(is_taken("d") and not is_taken("c"), "the fourth key")
    key = files["a"]
    reload()
    expect(is_taken("a") and is_taken("d"), "another file")

    # Whether there is a key at all is for the start.
    node.configure([data], f'listen = "{node.address}"\n')
    node.signal(signal.SIGHUP)
    wait_until(lambda: "key=key_file" in node.said(), "the log to ask for a restart")
    expect(is_taken("a") and not is_taken("c"), "the key stays")
