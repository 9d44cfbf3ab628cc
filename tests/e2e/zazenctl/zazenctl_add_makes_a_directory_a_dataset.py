"""zazenctl add: a directory is a dataset at once, for programs that run and after a restart, until
it is taken away. The daemon's own user may always."""
import json
import os
import signal

from nodes import ZAZENCTL, Nodes
from processes import expect, run, wait_until

with Nodes(1) as nodes:
    node = nodes[0]
    fixed = nodes.dataset(frames=2)
    mine = nodes.dataset(frames=5, name="mine", ordinary=False, template="frame-{seq:04}.xtc")
    node.configure([fixed])

    def served():
        return {each["path"] for each in node.status()["datasets"]}

    def fails(status, *words, said=()):
        done = node.ctl("add", *words)
        expect(done.status == status and done.stdout == "", f"{words}: {done}")
        for word in ("zazenctl: error: ", *said):
            expect(word in done.stderr, f"{word!r} is not in {done.stderr}")

    fails(3, mine.path, said=("no daemon answers", "hint: start it with"))
    node.start()
    fails(1, nodes.path("nowhere"), said=("nowhere: No such file", "hint: "))
    os.mkdir(nodes.path("empty"))
    fails(1, nodes.path("empty"), said=("no files there", "hint: name the frames yourself"))
    fails(2, mine.path, "--frames", "x", said=("not a frame name", "hint: for example"))
    fails(2, mine.path, "--frames", "f{seq}", "--remove")
    fails(1, fixed.path, "--frames", "g{seq}", said=("is a dataset with frames", "hint: zazenctl status"))
    fails(1, os.path.dirname(fixed.path), "--frames", "f{seq}", said=("is a dataset", "hint: "))
    fails(1, "--remove", fixed.path, said=("no user has added it", "hint: "))
    expect(served() == {fixed.path}, f"{served()}")

    # Under another name of the directory, with the template that most files have.
    os.symlink(mine.path, nodes.path("link"))
    done = node.ctl("add", nodes.path("link"), "--json").succeeded()
    said = json.loads(done.stdout)
    expect((said["path"], said["frames"], said["matches"]) == (mine.path, mine.template, 5), f"{said}")
    expect(served() == {fixed.path, mine.path}, f"{served()}")
    done = node.ctl("add", mine.path).succeeded()
    expect(f"5 of 5 files are named {mine.template}" in done.stdout, f"{done}")
    name = sorted(mine.frames)[1]
    nodes.warm(node, mine, [name])
    done = run([ZAZENCTL, "--config", node.config, "run", "--report", nodes.path("r.json"), "--dataset",
                mine.path, "--", "cat", mine.file(name)], nodes.env).succeeded()
    with open(nodes.path("r.json")) as file:
        expect(json.load(file)["hits"] == 1, "a hit")

    # A reload and a restart keep it.
    before = node.said().count("event=reloaded")
    node.signal(signal.SIGHUP)
    wait_until(lambda: node.said().count("event=reloaded") > before, "the reload")
    expect(served() == {fixed.path, mine.path}, f"after a reload: {served()}")
    node.kill()
    node.start()
    expect(served() == {fixed.path, mine.path}, f"after a crash: {served()}")
    wait_until(lambda: node.held(mine) == 1, "its copy to be known")

    # The configuration takes precedence, and a damaged file stops nothing.
    node.ctl("add", "--remove", mine.path).succeeded()
    expect(served() == {fixed.path}, f"taken away: {served()}")
    node.ctl("add", mine.path).succeeded()
    node.stop()
    kept = os.path.join(node.cache, ".zazen", "user-datasets.toml")
    mine.keys = "filter = false"
    node.configure([fixed, mine])
    node.start()
    expect(served() == {fixed.path, mine.path} and "event=dataset_left_out" in node.said(), node.said())
    node.stop()
    node.configure([fixed])
    with open(kept, "w") as file:
        file.write("[[dataset]\n")
    node.start()
    expect(served() == {fixed.path} and "event=user_datasets_damaged" in node.said(), node.said())
    expect(os.path.exists(kept + ".damaged"), "it is kept")
