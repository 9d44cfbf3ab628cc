"""A daemon without users = "all" is closed to all others, in every file, even if the directory
around it is opened. Only root may serve all."""
import os

from nodes import ZAZEND
from people import ALICE, BOB, SystemNode
from processes import expect, run

with SystemNode() as node:
    data = node.dataset(4)
    files = [data.file(name) for name in sorted(data.frames)]
    node.node.configure([data])
    node.node.start()
    node.nodes.warm(node.node, data, ["f1", "f2"])
    for directory in (node.node.runtime, node.node.cache):
        expect(os.stat(directory).st_mode & 0o077 == 0, f"{directory} is open")
        BOB.refused(lambda: os.listdir(directory), "list it")
        os.chmod(directory, 0o755)  # as an administrator might, by mistake
    closed = [node.node.runtime + "/" + name
              for name in ("table", "counters", "index", "lock", "jobs/x", "socket")]
    closed += [node.copy(data.file("f1")), node.copy(data.path) + "/.zazen/alien.seq",
               node.node.cache + "/.zazen/lock"]
    for path in closed:
        for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT):
            BOB.refused(lambda: os.open(path, flags), f"open {path}")
    os.chmod(node.node.runtime + "/socket", 0o666)  # nor does it answer whom the kernel lets in
    before = node.hits()
    node.check(BOB, files, "another's daemon")
    expect(node.hits() == before, "bob was served")
    expect(node.ctl(BOB, "status").status == 3, "the daemon answers bob")

    with open(node.nodes.path("all.toml"), "w") as file:
        file.write(f'users = "all"\ncache = "{node.directory}/c"\nruntime = "{node.directory}/r"\n'
                   f'[[dataset]]\npath = "{data.path}"\nframes = "f{{seq}}"\n')
    refused = run(ALICE.command([ZAZEND, "--config", file.name]), node.nodes.env)
    if refused.status != 127 and refused.status != 126:  # she can reach the build directory
        expect(refused.status == 1 and "only root" in refused.stderr, f"{refused}")
        expect("hint:" in refused.stderr, f"{refused}")
    os.mkdir(node.nodes.path("hers"))
    os.chown(node.nodes.path("hers"), ALICE.uid, ALICE.gid)
    with open(file.name) as text:
        content = text.read().replace(f"{node.directory}/r", f"{node.directory}/hers/r")
    with open(file.name, "w") as text:
        text.write(content)
    refused = run([ZAZEND, "--config", file.name], node.nodes.env)
    expect(refused.status == 1 and "others could replace it" in refused.stderr, f"{refused}")
