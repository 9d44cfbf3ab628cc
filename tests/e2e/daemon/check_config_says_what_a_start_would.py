"""zazend --check-config changes nothing, and refuses what a start would refuse, in the same
words."""
import os
import re
import shutil

from nodes import ZAZEND, Nodes
from processes import expect, run
from systemd_unit import settings

with Nodes(1) as nodes:
    node, data = nodes[0], nodes.dataset(frames=2)
    node.configure([data])

    def zazend(*words, file=node.config):
        return run([ZAZEND, "--config", file, *words], nodes.env, seconds=20)

    def checked(file=node.config):
        return zazend("--check-config", file=file)

    def is_good(datasets):
        done = checked().succeeded()
        expect((done.stdout, done.stderr) == (f"{node.config}: ok, {datasets}\n", ""), f"{done}")

    def is_refused(*words):
        done, start = checked(), zazend()
        expect(done.status == 1 and done.stdout == "", f"refused: {done}")
        expect(start.status in (1, 2) and start.stderr == done.stderr, f"as a start: {start}, {done}")
        for word in words:
            expect(re.search(word, done.stderr), f"{word!r} is not in {done.stderr}")

    is_good("1 dataset")
    expect(not os.path.exists(node.cache) and not os.path.exists(node.runtime), "it made something")
    expect(zazend("--check-config", "--daemonize").status == 2, "one or the other")
    expect(checked(nodes.path("none.toml")).status == 1, "no file")

    more = nodes.dataset(frames=1, name="sim2")
    node.configure([data, more])
    is_good("2 datasets")
    node.configure([data], "sweeep = '1h'\n")
    is_refused(re.escape(f"{node.config}:5: unknown key 'sweeep'"), "hint: did you mean 'sweep'")
    node.configure([data, data])
    is_refused("is the same as")
    node.configure([data], 'listen = "0.0.0.0:7117"\n')
    is_refused("no key file and no MUNGE", "hint: ")
    node.configure([data], f'listen = "127.0.0.1:7117"\nkey_file = "{nodes.path("none")}"\n')
    is_refused(re.escape(nodes.path("none")))

    # The directories, as they are.
    node.configure([data])
    os.makedirs(node.cache, 0o700, exist_ok=True)  # a start that was refused may have made it
    os.chmod(node.cache, 0o777)
    is_refused("cache directory .* is writable by group or others", "hint: chmod go-w")
    os.chmod(node.cache, 0o700)
    shutil.rmtree(node.runtime)
    os.symlink(nodes.directory, node.runtime)
    is_refused("runtime directory .* is a symbolic link")
    os.remove(node.runtime)
    is_good("1 dataset")
    expect(os.listdir(node.cache) == [], "it made something")
    in_file = nodes.path("in-a-file.toml")
    with open(node.config) as file:
        text = file.read()
    with open(in_file, "w") as file:
        file.write(text.replace(node.cache, node.config + "/cache"))
    done = checked(in_file)
    expect(done.status == 1 and "Not a directory" in done.stderr, f"{done}")
    if os.geteuid() != 0:
        node.configure([data], 'users = "all"\n')
        is_refused("only root")
        node.configure([data])

    # Beside a daemon, also when its configuration has been spoilt.
    node.start()
    is_good("1 dataset")
    node.configure([data], "nod = 1\n")
    expect(checked().status == 1, "it looks at the file, not at the daemon")
    expect("not loaded" in node.ctl("status").succeeded().stdout, "the daemon was asked to load it")
    node.configure([data])
    expect(node.status()["pid"] == node.pid(), "the daemon is as before")

# systemd asks before it starts the daemon. A reload says by itself what is wrong.
config = "--config /etc/zazen/zazen.toml"
expect(settings("ExecStartPre")[0] == f"/usr/sbin/zazend --check-config {config}", f"{settings('ExecStartPre')}")
expect(settings("ExecReload") == [f"/usr/bin/zazenctl {config} reload"], f"{settings('ExecReload')}")
