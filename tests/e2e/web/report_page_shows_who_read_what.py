"""report --html: one file with the figures of report --json, by rank, which Debian's chromium shows on a
phone and on a desk. Markup in the names of datasets does nothing."""
import json
import os
import stat

from browser import DESK, PHONE, Browser, is_installed
from nodes import MPIRUN, PYTHON, ZAZENCTL, Nodes, program, skip
from processes import expect, run

if not is_installed():
    skip("no chromium with chromedriver")

EVIL = "sim <img src=x onerror=document.title=1><script>document.title=2;'&amp;" + 80 * "x"

with Nodes(1) as nodes:
    data = nodes.dataset(frames=20, name=EVIL)
    nodes.start()
    node = nodes[0]
    page = nodes.path("job.html")

    def report(*words):
        return json.loads(node.ctl("report", *words, "--json").succeeded().stdout)

    none = node.ctl("report", "--html", page)
    expect(none.status == 1 and "hint: " in none.stderr and not os.path.exists(page), f"{none}")

    # The same command twice: first from the origin, then from the cache.
    out = nodes.output_of_a_job()[0]
    command = [MPIRUN, "-n", "4", ZAZENCTL, "--config", node.config, "run", "--divide", "--",
               *program("list_and_read_c"), data.path, out]
    run(command, nodes.env).succeeded()
    node.settle()
    with open(page, "w") as file:
        file.write("an older page")
    with open(page) as older:
        node.ctl("report", "--html", page).succeeded()
        expect(older.read() == "an older page", "a reader of the older page goes on")
    with open(page) as file:
        first = file.read()
    expect(stat.S_IMODE(os.stat(page).st_mode) == 0o644, "others may read the page")
    expect(not [name for name in os.listdir(nodes.directory) if name.startswith("job.html.")],
           "a temporary file is left")
    expect("://" not in first, "the page refers to another place")
    run(command, nodes.env).succeeded()

    with Browser(nodes.env, nodes.path("browser")) as browser:
        def figures(key):
            return browser.figures(f"table.readers td.{key}")

        def check_page(figures_of_job):
            expect(browser.script("return document.title").startswith("Zazen: job "), "the title")
            expect(browser.script("return document.querySelectorAll('script, img, link, iframe').length")
                   == 0, "markup in a name was taken for markup")
            expect(data.path in browser.texts("h3"), f"{browser.texts('h3')}")
            for key, name in (("hits", "hits"), ("misses", "misses"), ("read", "read"),
                              ("assigned", "assigned")):
                expected = [rank[name] for rank in figures_of_job["per_rank"]]
                expect(figures(key) == expected, f"{key}: {figures(key)}, not {expected}")
            for tile, name in (("frames", "frames_read"), ("bytes-local", "bytes_local"),
                               ("bytes-origin", "bytes_origin"), ("ranks", "ranks")):
                shown = browser.figures(f"#{tile}")
                expect(shown == [figures_of_job[name]], f"{tile}: {shown}: {figures_of_job}")
            browser.check_shape()
            expect(browser.complaints() == [], "the console is silent")

        jobs = report()["jobs"]
        browser.open(f"file://{page}")
        check_page(report(jobs[1]["job"]))
        expect("Each frame was read exactly once." in browser.text("#verdict"), browser.text("#verdict"))
        misses = report(jobs[1]["job"])["misses"]
        expect(f"{misses} opens went to the origin" in browser.text("#misses"), browser.text("#misses"))
        expect("None is known" in browser.text("main"), "there is no earlier run yet")

        node.ctl("report", "last", "--html", page).succeeded()
        for width, dark in ((DESK, False), (PHONE, True)):
            browser.dark(dark)
            browser.open(f"file://{page}", width)
            check_page(report("last"))
        expect(browser.script("return getComputedStyle(document.body).backgroundColor")
               == "rgb(22, 24, 27)", "a dark page")
        expect(browser.text("#misses") is None, "nothing went to the origin")
        # Both runs, this one first.
        numbers = [words.split()[0] for words in browser.texts("table.earlier tbody th")]
        expect(numbers == [one["job"][:8] for one in jobs], f"{numbers}: {jobs}")
        shares = browser.texts("table.earlier td.share")
        expect(shares == ["100%", "0%"], f"{shares}")

        # Frames that nobody read, and by whom they should have been.
        job = nodes.mpirun("divide_the_list_c", data, ranks=4)
        lost = job.report["frames_never_read"]
        expect(lost > 0, f"{job.report}")
        node.ctl("report", "--html", page).succeeded()
        browser.open(f"file://{page}")
        check_page(report("last"))
        expect("ZAZEN_FILTER=off" in browser.text("#verdict"), browser.text("#verdict"))
        said = [int(words.split(":")[1]) for words in browser.texts("table.strips .state")]
        expect(sum(said) == lost, f"{said}: {lost}")
        expect(browser.script("return document.querySelectorAll('.strips path.lost').length")
               == len(said), "the strips show them")

        # A program without MPI, which also opens another file.
        reads = "import sys\nfor path in sys.argv[1:]: open(path).close()"
        run([ZAZENCTL, "--config", node.config, "run", "--", PYTHON, "-c", reads, data.file("f1"),
             data.file("f2"), data.file("topology.top")], nodes.env).succeeded()
        browser.open("data:text/html,nothing")
        sent = node.ctl("report", "last", "--html", "-").succeeded().stdout
        with open(page, "w") as file:
            file.write(sent)
        browser.open(f"file://{page}", PHONE)
        browser.check_shape()
        expect(figures("hits") == [report("last")["hits"]] == [2], f"{figures('hits')}")
        expect(any(name.endswith("/topology.top") for name in browser.texts("table.others th")),
               f"{browser.texts('table.others th')}")

    # What cannot be written says so and leaves nothing.
    for words in (("--html", nodes.path("missing", "job.html")), ("--html", page, "last", "last"),
                  ("--html", page, "--json")):
        done = node.ctl("report", *words)
        expect(done.status in (1, 2) and "hint: " in done.stderr, f"{done}")
    expect(not os.path.exists(nodes.path("missing")), "nothing is made")
