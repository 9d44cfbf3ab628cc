"""serve: the page has the figures of status --json, and follows them; it names problems and nodes that do
not answer. Nothing is answered without the token, and nothing but GET and HEAD. ^C ends it."""
from browser import DESK, PHONE, Browser, is_installed
from nodes import ZAZENCTL, Nodes, skip
from processes import expect, run, wait_until
from web_page import Served

if not is_installed():
    skip("no chromium with chromedriver")

with Nodes(2) as nodes:
    data = nodes.dataset(frames=12, name="sim <script>document.title=1;")
    nodes.configure('capacity = "10GB"')
    for node in nodes:
        node.start()
    node = nodes[0]
    nodes.push(data)
    reads = [ZAZENCTL, "--config", node.config, "run", "--", "cat", data.file("f1"), data.file("f2")]
    run(reads, nodes.env).succeeded()

    with Served(node, nodes.env, "--all") as served:
        path = served.parts.path
        token = path.strip("/")
        expect(served.parts.hostname == "127.0.0.1" and len(token) == 32, served.url)

        # All that is refused.
        wrong = f"/{'0' * 32}/" if token != "0" * 32 else f"/{'1' * 32}/"
        for bad in ("/", wrong, wrong + "page.css", path.rstrip("/"), path[:-2] + "/", f"/x{path}",
                    f"/?token={token}", f"/{token[:-1]}", "/page.js"):
            status, _, body = served.get(bad)
            expect(status == 403 and data.path not in body, f"{bad}: {status}")
        expect(served.get(path, Host="evil.example")[0] == 403, "a rebound name")
        expect(served.get(path, method="POST")[0] == 405, "only GET and HEAD")
        expect(served.get(path + "job/../../x")[0] == 404, "no such page")
        status, headers, body = served.get(path, Host="localhost:8080")
        expect(status == 200, f"through ssh -L: {status}")
        expect(headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
               and headers["Set-Cookie"] is None, f"{headers}")
        policy = headers["Content-Security-Policy"]
        expect("default-src 'none'" in policy and "unsafe" not in policy, policy)
        expect("<script>" not in body and token not in body, "markup in a name, or the token, in the page")
        expect(served.get(path, method="HEAD")[2] == "", "HEAD has no body")

        with Browser(nodes.env, nodes.path("browser")) as browser:
            def figures():
                return {tile: browser.figures(f"#{tile}") for tile in
                        ("used", "capacity", "files", "hits", "misses", "evictions")}

            def expected():
                both = [one.status() for one in nodes]
                return {tile: [sum(status[key] for status in both)] for tile, key in
                        (("used", "used_bytes"), ("capacity", "capacity_bytes"), ("files", "used_files"),
                         ("hits", "hits"), ("misses", "misses"), ("evictions", "evictions"))}

            browser.open(served.url)
            # The script of the page takes new figures by itself: no reload.
            wait_until(lambda: figures() == expected(), "the page to show what status says", 60)
            expect(expected()["hits"][0] + expected()["misses"][0] == 2, f"{expected()}")
            expect(browser.text("#verdict").split() == "✓ healthy 2 of 2 nodes healthy.".split(),
                   browser.text("#verdict"))
            row = f"table.datasets tr[data-dataset='{data.path}']"
            for key in ("native", "alien", "bytes", "pinned"):
                shown = browser.figures(f"{row} td.{key}")
                expect(shown == [sum(one.status_of(data)[key] for one in nodes)], f"{key}: {shown}")
            expect(browser.texts("table.nodes tbody th") == ["n0", "n1"], "the nodes")

            # A third read appears in the figures and in the course.
            run([ZAZENCTL, "--config", node.config, "run", "--", "cat", data.file("f3")],
                nodes.env).succeeded()
            wait_until(lambda: figures() == expected(), "the page to follow", 60)
            expect(expected()["hits"][0] + expected()["misses"][0] == 3, f"{expected()}")
            wait_until(lambda: browser.text("#course-words").startswith("Latest "), "the course", 60)
            expect(browser.script("return document.querySelectorAll('.course .line').length") == 1, "a line")

            # A job's page, by keyboard.
            links = browser.script("return [...document.querySelectorAll('table.jobs a')].map(one => one.href)")
            expect(len(links) == 2, f"{links}")
            browser.open(links[-1], PHONE)
            expect(browser.text("h1").startswith("Job "), browser.text("h1"))
            expect(browser.figures("table.readers td.read") == [2], "the job read two frames")
            browser.check_shape()
            expect(browser.script("return document.querySelector('#back').href") == served.url, "the way back")

            # A node that is gone is named, and what to do.
            for width, dark in ((DESK, True), (PHONE, False)):
                browser.dark(dark)
                browser.open(served.url, width)
                browser.check_shape()
            nodes[1].stop()
            wait_until(lambda: "n1" in (browser.text("li.silent") or ""), "the page to miss n1", 60)
            expect("zazenctl doctor" in browser.text("li.silent"), browser.text("li.silent"))
            expect("1 of 2 nodes healthy" in browser.text("#verdict"), browser.text("#verdict"))
            expect(browser.script("return document.title") != "1", "a script in a name ran")
            browser.check_shape()
            expect(browser.complaints() == [], "the console is silent")
            nodes[0].stop()
            wait_until(lambda: "0 of 2 nodes healthy" in browser.text("#verdict"), "nobody to answer", 60)
            expect(figures()["used"] == [] and "No node answers." in browser.text("main"),
                   "nothing is said of nodes that do not answer")

            # The end of the server is shown.
            expect(browser.script("return document.querySelector('#lost-connection').hidden"), "it answers")
            served.interrupt()
            wait_until(lambda: not browser.script("return document.querySelector('#lost-connection').hidden"),
                       "the page to say that nobody answers", 60)

    # A port that is taken; no daemon is needed.
    with Served(node, nodes.env) as served:
        port = str(served.parts.port)
        done = node.ctl("serve", "--port", port)
        expect(done.status == 1 and "hint: " in done.stderr and port in done.stderr, f"{done}")
