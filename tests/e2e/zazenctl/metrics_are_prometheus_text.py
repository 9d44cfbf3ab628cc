"""`zazenctl status --prometheus` prints the text format, with the numbers of the status. Each
metric is described once and typed, in base units, with no path and no user in a label. The Grafana
dashboard shows metrics that a node prints, and no others."""
import json
import pathlib
import re

from network import Nodes, expect, listen

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{([^}]*)\})? (\d+)')


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
            expect((name, labels) not in values, f"twice: {line}")
            values[name, labels] = int(value)
    return values


with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=6)
    listen(node, [data, nodes.dataset(frames=1, name="sim2")])
    nodes.push(data)
    nodes.serial(node, ["cat", *(data.file(f"f{i}") for i in range(4))]).succeeded()
    text = node.ctl("status", "--prometheus").succeeded().stdout
    values, status = parse(text), node.status()
    expect(values["zazen_healthy", None] == 1, text)
    expect(values["zazen_hits_total", None] == status["hits"] == 4, text)
    expect(values["zazen_used_bytes", None] == status["used_bytes"] > 0, text)
    expect(values["zazen_pushes_total", None] == 6, text)
    expect(values["zazen_dataset_native_files", 'dataset="0"'] == 6, text)
    expect(values["zazen_dataset_hits_total", 'dataset="0"'] == 4, text)
    expect(values["zazen_dataset_hits_total", 'dataset="1"'] == 0, text)
    expect("/" not in re.sub("# .*", "", text), f"a path: {text}")

    dashboard = json.loads((SOURCE / "packaging/grafana/zazen.json").read_text())
    for panel in dashboard["panels"]:
        shown = [name for target in panel["targets"] for name in re.findall(r"zazen_\w+", target["expr"])]
        expect(shown, f"no metric in {panel['title']}")
        for name in shown:
            expect(name in {known for known, _ in values}, f"{panel['title']}: no metric {name}")
