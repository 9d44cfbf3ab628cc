"""status says when the configuration file was changed and is not loaded, and why the last reload
failed. Both make the node unhealthy until a reload succeeds."""
import json
import os
import re

from nodes import Nodes
from processes import expect


def problems(node):
    """What status -x says of the configuration, in words and as JSON."""
    done = node.ctl("status", "-x")
    found = json.loads(node.ctl("status", "-x", "--json").stdout)["problems"]
    expect(done.status == (4 if found else 0), f"{done}")
    lines = [line.partition("   ")[2] for line in done.stdout.splitlines()]
    expect(len(lines) == len(found), f"{lines} {found}")
    return found


def rewrite(node, before, after):
    """As an editor does it: a new file under the same name."""
    with open(node.config) as file:
        text = file.read()
    expect(before in text, text)
    with open(node.config + ".new", "w") as file:
        file.write(text.replace(before, after))
    os.rename(node.config + ".new", node.config)


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=1)
    node.configure([data], "capacity = 1000000000\n")
    node.start()
    expect(not problems(node), "nothing was changed")
    at_start = node.status()["configuration"]
    expect(at_start["file"] == node.config and at_start["changed_at"] is at_start["failed"] is None, f"{at_start}")

    rewrite(node, "1000000000", "2000000000")
    changed = rf"configuration {re.escape(node.config)}: changed \d+ s ago, not loaded: zazenctl reload"
    found = problems(node)
    expect(len(found) == 1 and re.fullmatch(changed, found[0]), f"{found}")
    expect("not healthy" in node.ctl("status").stdout.splitlines()[0], "the first line")
    expect(node.status()["configuration"]["changed_at"] >= at_start["loaded_at"], "the time of the change")

    rewrite(node, "capacity", "capacty")
    expect(len(problems(node)) == 1, "status needs no right configuration")
    expect(node.ctl("reload").status == 1, "the reload of a wrong file")
    found = problems(node)
    expect(len(found) == 1 and "the reload 0 s ago failed: " in re.sub(r"\d+ s ago", "0 s ago", found[0]), f"{found}")
    expect(":5: unknown key 'capacty'; did you mean 'capacity'?" in found[0], f"{found}")
    failed = node.status()["configuration"]["failed"]
    expect(":5: " in failed["reason"] and failed["hint"], f"{failed}")

    rewrite(node, "capacty", "capacity")  # both: the last reload has failed, and the file is a newer one
    found = problems(node)
    expect(len(found) == 2 and re.fullmatch(changed, found[1]), f"{found}")
    node.ctl("reload").succeeded()
    expect(not problems(node), "after a reload that succeeded")
    now = node.status()
    expect(now["capacity_bytes"] == 2_000_000_000 and now["configuration"]["failed"] is None, f"{now}")

    os.utime(node.config, (1, 1))  # an older file under the same name is another one, too
    expect(len(problems(node)) == 1, "the file has another time")
    node.ctl("reload").succeeded()
    os.chmod(node.config, 0o600)
    expect(not problems(node), "its mode is none of its content")
    os.rename(node.config, node.config + ".away")
    os.rename(node.config + ".away", node.config)
    expect(not problems(node), "a rename there and back")

    # Files that `include` names: a change, a new one, one that is gone.
    os.mkdir(f"{node.directory}/conf.d")
    more = nodes.dataset(frames=1, name="sim2")
    block = f'[[dataset]]\npath = "{more.path}"\nframes = "{more.template}"\n'
    part = f"{node.directory}/conf.d/more.toml"
    with open(node.config) as file:
        text = file.read()
    with open(node.config, "w") as file:
        file.write('include = "conf.d/*.toml"\n' + text)
    node.ctl("reload").succeeded()
    with open(part, "w") as file:
        file.write(block)
    found = problems(node)
    expect(len(found) == 1 and re.fullmatch(changed, found[0]), f"a new file: {found}")
    expect(f"added     {more.path}" in node.ctl("reload").succeeded().stdout, "the new dataset")
    open(f"{node.directory}/conf.d/notes.txt", "w").close()
    expect(not problems(node), "a file that is not included")
    with open(part, "a") as file:
        file.write("# changed\n")
    expect(len(problems(node)) == 1, "a changed file")
    node.ctl("reload").succeeded()
    os.unlink(part)
    expect(len(problems(node)) == 1, "a file that is gone")
    expect(f"removed   {more.path}" in node.ctl("reload").succeeded().stdout, "the dataset is gone")
