"""doctor: a healthy node is all ok. Each defect has a line of its own, with a remedy."""
import json
import os
import shutil
import signal
import time

from nodes import SHIM, ZAZENCTL, Nodes
from processes import expect, run, wait_until

with Nodes(1) as nodes:
    data = nodes.dataset(frames=4)
    nodes.configure()
    node = nodes[0]

    def doctor(zazenctl=ZAZENCTL, **env):
        done = run([zazenctl, "--config", node.config, "doctor", "--json"], dict(nodes.env, **env))
        found = json.loads(done.stdout)["node"]
        failed = any(each["level"] == "fail" for each in found)
        expect(done.status == (4 if failed else 0), f"{done}")
        expect(all(each["hint"] for each in found if each["level"] != "ok"), f"a remedy: {done}")
        return found

    def check(level, about, word, **env):
        found = doctor(**env)
        expect(any(each["level"] == level and each["about"] == about and word in each["text"]
                   for each in found), f"{level} {about} {word} in {found}")

    check("warn", "runtime", "does not exist")
    check("fail", "table", "no daemon runs")
    text = node.ctl("doctor", "cat").stdout
    expect(text.endswith("cat: the shim would reach it, but the node has failures\n"), text)
    node.start()
    text = node.ctl("doctor", "cat").stdout
    expect(text.endswith("cat: the shim reaches it\n"), text)
    found = doctor()
    about = {each["about"]: each["level"] for each in found}
    for each in ("configuration", "runtime", "cache", "table", "socket", "version", "dataset",
                 "clock", "shim", "plug-in", "environment"):
        expect(about.get(each) == "ok", f"{each}: {found}")
    expect("fail" not in about.values() and "disk" in about, f"{found}")
    text = node.ctl("doctor").succeeded().stdout
    expect("ok    table " in text and "\nnode: " in text, text)

    # The environment.
    check("warn", "environment", "ZAZEN_FLITER", ZAZEN_FLITER="off")
    check("warn", "environment", "ZAZEN_FILTER=of:", ZAZEN_FILTER="of")
    check("warn", "environment", "ZAZEN_DISABLE", ZAZEN_DISABLE="1")
    check("warn", "environment", "ZAZEN_RUNTIME=run", ZAZEN_RUNTIME="run")
    check("warn", "environment", "ZAZEN_VIEW", ZAZEN_VIEW="/nowhere")
    asan = dict(ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    check("warn", "LD_PRELOAD", "/nowhere/libzazen.so: No such file",
          LD_PRELOAD="/nowhere/libzazen.so", **asan)
    other = shutil.copy(SHIM, nodes.path("libzazen.so"))
    check("warn", "LD_PRELOAD", "another libzazen.so", LD_PRELOAD=other, **asan)
    check("ok", "environment", "", LD_PRELOAD=SHIM, ZAZEN_CONFIG=node.config, **asan)

    # An installed tree.
    for directory in ("tools", "preload"):
        os.makedirs(nodes.path("tree", directory))
    elsewhere = shutil.copy(ZAZENCTL, nodes.path("tree", "tools"))
    check("fail", "shim", "neither in", zazenctl=elsewhere)
    broken = shutil.copy(SHIM, nodes.path("tree", "preload"))
    check("ok", "shim", "loads into", zazenctl=elsewhere)
    check("warn", "plug-in", "not beside the shim", zazenctl=elsewhere)
    os.truncate(broken, 5000)
    check("fail", "shim", "does not load", zazenctl=elsewhere)
    done = run([elsewhere, "--config", node.config, "doctor", "cat"], nodes.env)
    expect(done.stdout.endswith("cat: the shim does not reach it\n"), f"{done}")
    done = run([elsewhere, "--config", node.config, "doctor", "--json", "cat"], nodes.env)
    expect(not json.loads(done.stdout)["program"]["reached"], f"{done}")
    shutil.copy(SHIM, nodes.path("tree", "preload", "libzazen-openmpi.so"))
    check("warn", "plug-in", "another version", zazenctl=elsewhere)
    os.truncate(nodes.path("tree", "preload", "libzazen-openmpi.so"), 5000)
    check("warn", "plug-in", "libzazen-openmpi.so: ", zazenctl=elsewhere)

    # Directories, datasets, the clock.
    os.chmod(node.cache, 0o777)
    check("fail", "cache", "others may write")
    os.chmod(node.cache, 0o700)
    later = time.time() + 3600
    os.utime(data.path, (later, later))
    check("warn", "clock", "in the future")
    os.utime(data.path)
    shutil.move(data.path, data.path + ".away")
    check("fail", "dataset", "No such file")
    check("fail", "daemon", data.path)
    shutil.move(data.path + ".away", data.path)
    nodes.dataset(frames=1, name="sim2")
    nodes.configure()
    check("warn", "dataset", "does not serve it")

    check("fail", "daemon", "not loaded: zazenctl reload")
    node.ctl("reload").succeeded()

    # The daemon.
    node.signal(signal.SIGSTOP)
    wait_until(lambda: any("hangs" in each["text"] for each in doctor()), "no heartbeat")
    check("fail", "socket", "no answer")
    node.signal(signal.SIGCONT)
    wait_until(lambda: all(each["level"] != "fail" for each in doctor()), "it serves again")
    node.kill()
    check("fail", "table", "is dead")
    check("fail", "socket", "no answer")

    done = run([ZAZENCTL, "--config", "/nowhere.toml", "doctor", "--json", "cat"], nodes.env)
    found = json.loads(done.stdout)
    expect(done.status == 4 and found["node"][0]["about"] == "configuration", f"{done}")
    expect(found["program"]["reached"], "the program is examined all the same")
