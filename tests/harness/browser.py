"""Debian's chromium without a window, steered through chromedriver: what a page shows and does.

    with Browser(nodes.env, nodes.path("browser")) as browser:
        browser.open("file:///...")
        browser.script("return document.title")
"""
import http.client
import json
import os
import shutil

from processes import Process, expect, wait_until

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage"]
PHONE, DESK = 390, 1200


def is_installed():
    return shutil.which("chromium") and shutil.which("chromedriver")


class Browser:
    def __init__(self, env, directory):
        os.mkdir(directory)
        self._driver = Process(["chromedriver", "--port=0"], dict(env, HOME=directory, TMPDIR=directory))
        self._session, self._width = None, DESK
        try:
            self._connect(directory)
        except BaseException:
            self._driver.kill_session()
            raise

    def _connect(self, directory):
        def port():
            words = self._driver.stdout_so_far().partition("started successfully on port ")[2]
            return int(words.split(".")[0]) if "." in words else None
        wait_until(port, "chromedriver to listen")
        self._port = port()
        options = {"binary": shutil.which("chromium"),
                   "args": [*FLAGS, f"--user-data-dir={directory}/profile"]}
        self._session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None)
            answer = connection.getresponse()
            value = json.loads(answer.read())["value"]
            expect(answer.status == 200, f"{method} {path}: {value}")
            return value
        finally:
            connection.close()

    def _do(self, command, body):
        return self._ask("POST", f"/session/{self._session}/{command}", body)

    def cdp(self, command, **parameters):
        return self._do("goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url, width=DESK):
        self._width = width
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=800,
                 deviceScaleFactor=1, mobile=width < 600)
        self._do("url", {"url": url})

    def script(self, text, *arguments):
        return self._do("execute/sync", {"script": text, "args": list(arguments)})

    def dark(self, wanted):
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}])

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0])?.innerText", selector)

    def texts(self, selector):
        return self.script(
            "return [...document.querySelectorAll(arguments[0])].map(one => one.innerText)", selector)

    def figures(self, selector):
        """The exact values of the <data> elements there."""
        return self.script("return [...document.querySelectorAll(arguments[0] + ' data')]"
                           ".map(one => Number(one.value))", selector)

    def complaints(self):
        """What the console says: errors of scripts, what the policy refused."""
        return [entry["message"] for entry in self._do("se/log", {"type": "browser"})]

    def check_shape(self):
        """Nothing needs sideways scrolling; every chart has a title; every heading is in order."""
        wide = self.script("return document.documentElement.scrollWidth")
        expect(wide <= self._width, f"the page is {wide} wide in a window of {self._width}")
        untitled = self.script(
            "return [...document.querySelectorAll('svg:not([aria-hidden])')].filter(one =>"
            " !one.querySelector('title')?.textContent || one.getAttribute('role') !== 'img').length")
        expect(untitled == 0, f"{untitled} charts have no title")
        levels = self.script("return [...document.querySelectorAll('h1, h2, h3')].map(one => +one.tagName[1])")
        expect(levels[:1] == [1] and levels.count(1) == 1, f"headings: {levels}")
        expect(all(b - a <= 1 for a, b in zip(levels, levels[1:])), f"headings: {levels}")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            self._ask("DELETE", f"/session/{self._session}")
        finally:
            self._driver.kill_session()
