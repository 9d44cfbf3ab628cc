"""Every command of docs/tutorial.md works for an ordinary user with an installed Zazen, in the order of
the page, and prints what the page says."""
import os
import pathlib
import re
import shutil
import tempfile

from nodes import BUILD, Nodes, skip
from processes import expect, run

UID = 70232  # no other test's: zazenctl init chooses the cache by the user
CACHE = f"/var/tmp/zazen-{UID}"
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/tutorial.md"
BLOCK = re.compile(r"^```(sh)?\n(.*?)^```$", re.M | re.S)
DONE = "-- block "

if os.geteuid() != 0:
    skip("needs a user of its own")
expect(not os.path.lexists(CACHE), f"{CACHE} is somebody's")

with Nodes(0) as nodes, tempfile.TemporaryDirectory(prefix="zazen-") as top:
    os.chmod(top, 0o755)
    run(["cmake", "--install", BUILD, "--prefix", f"{top}/tree"], nodes.env).succeeded()
    home, runtime = f"{top}/home", f"{top}/run"
    for directory in (home, runtime):
        os.mkdir(directory, 0o700)
        os.chown(directory, UID, UID)

    blocks = BLOCK.findall(PAGE.read_text())
    commands = [text for kind, text in blocks if kind == "sh"]
    script = "set -e\n" + "".join(f"{text}\necho '{DONE}{i}'\n" for i, text in enumerate(commands))
    env = dict(nodes.env, HOME=home, USER="", XDG_RUNTIME_DIR=runtime, TMPDIR=runtime,
               OMPI_MCA_btl_vader_backing_directory=runtime,
               PATH=f"{top}/tree/bin:{top}/tree/sbin:/usr/local/bin:/usr/bin:/bin")
    try:
        done = run(["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--", "bash", "-c",
                    f"exec 2>&1\n{script}"], env, cwd=home, seconds=120).succeeded()
    finally:
        run(["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--", f"{top}/tree/bin/zazenctl",
             "stop"], dict(env, ZAZEN_CONFIG=f"{home}/zazen-tutorial/zazen.toml"), cwd=home)
        shutil.rmtree(CACHE, ignore_errors=True)

    # What each block printed, and what the page says that it prints.
    printed = re.split(f"{DONE}[0-9]+\n", done.stdout)
    expect(len(printed) == len(commands) + 1 > 5, f"{len(commands)} blocks: {done}")
    at = -1
    shown = 0
    for kind, text in blocks:
        if kind == "sh":
            at += 1
        else:
            expect(text in printed[at], f"{text!r} is not in {printed[at]!r}")
            shown += 1
    expect(shown >= 2, "what the page shows")

    def block_with(words):
        return printed[[words in text for text in commands].index(True)]

    expect(": healthy" in block_with("zazenctl status"), f"{done}")
    expect("200 frames, " in block_with("zazenctl warm"), f"{done}")
    expect("all from this node's disk" in block_with("zazenctl warm"), f"{done}")
    expect("not read by any rank" not in done.stdout and "not divided" not in done.stdout, f"{done}")
    expect("from the cache" in block_with("zazenctl explain"), f"{done}")
    expect(not os.path.exists(f"{home}/zazen-tutorial"), "cleaned up")
