"""`zazenctl status --prometheus` prints the text format, with the numbers of the status. Each
metric is described once and typed, in base units. The labels are the node, the dataset's path and
the source. GET /metrics on the address of `metrics` answers with the same text. The Grafana
dashboard shows metrics that a node prints, and no others."""
import json
import pathlib
import re
import urllib.error
import urllib.request

from network import Nodes, expect, free_port, listen, wait_until

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\d+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')


def parse(text):
    expect(text.endswith("\n"), "the last line ends")
    types, helped, values = {}, set(), {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            expect(name not in helped, f"described twice: {name}")
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            expect(name not in types and kind in ("gauge", "counter"), line)
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            expect(match, f"not a sample: {line}")
            name, labels, value = match.groups()
            expect(name in types and name in helped, f"not described before: {line}")
            expect((types[name] == "counter") == name.endswith("_total"), line)
            labels = tuple((key, value.replace('\\"', '"').replace("\\\\", "\\"))
                           for key, value in LABEL.findall(labels))
            expect((name, labels) not in values, f"twice: {line}")
            values[name, labels] = int(value)
    return values


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=6)
    other = nodes.dataset(frames=1, name="a b")
    metrics = f"127.0.0.1:{free_port()}"
    listen(node, [data, other], extra=f'metrics = "{metrics}"\n')
    nodes.push(data)
    nodes.serial(node, ["cat", *(data.file(f"f{i}") for i in range(4))]).succeeded()
    text = node.ctl("status", "--prometheus").succeeded().stdout
    values, status = parse(text), node.status()
    of_node = (("node", "n0"),)
    of_data, of_other = (of_node + (("dataset", one.path),) for one in (data, other))
    expect(values["zazen_healthy", of_node] == 1, text)
    expect(values["zazen_hits_total", of_node] == status["hits"] == 4, text)
    expect(values["zazen_used_bytes", of_node] == status["used_bytes"] > 0, text)
    expect(values["zazen_pushes_total", of_node] == 6, text)
    expect(values["zazen_dataset_native_files", of_data] == 6, text)
    expect(values["zazen_dataset_hits_total", of_data] == 4, text)
    expect(values["zazen_dataset_hits_total", of_other] == 0, text)
    expect(values["zazen_build_info", of_node + (("version", status["version"]),)] == 1, text)

    def served():
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=30) as answer:
            expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", f"{answer.headers}")
            return parse(answer.read().decode())

    def read(source):
        return of_data + (("source", source),)

    # Four hits of copies; then two misses, after their copies are gone.
    total = status["datasets"][0]["bytes"]
    wait_until(lambda: served()["zazen_bytes_total", read("cache")] == total // 6 * 4, "the bytes of the hits")
    node.ctl("evict", data.path, "--pushed", "--frames", "4-5").succeeded()
    nodes.serial(node, ["cat", data.file("f4"), data.file("f5")]).succeeded()
    wait_until(lambda: served()["zazen_bytes_total", read("origin")] > 0, "the bytes of the misses")
    now = served()
    expect(now["zazen_dataset_misses_total", of_data] == 2, f"{now}")
    expect(now["zazen_bytes_total", of_other + (("source", "cache"),)] == 0, f"{now}")
    expect(now.keys() == values.keys(), f"{now.keys() ^ values.keys()}")
    for path in ("/", "/metrics/", "/../zazen.toml"):
        try:
            urllib.request.urlopen(f"http://{metrics}{path}", timeout=30)
            expect(False, f"{path} has an answer")
        except urllib.error.HTTPError as error:
            expect(error.code == 404, f"{path}: {error}")

    dashboard = json.loads((SOURCE / "packaging/grafana/zazen.json").read_text())
    for panel in dashboard["panels"]:
        shown = [name for target in panel["targets"] for name in re.findall(r"zazen_\w+", target["expr"])]
        expect(shown, f"no metric in {panel['title']}")
        for name in shown:
            expect(name in {known for known, _ in values}, f"{panel['title']}: no metric {name}")
