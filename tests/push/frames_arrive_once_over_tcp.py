"""Frames that are pushed over TCP, with a key and on loopback without one, arrive once, as natives,
byte for byte. The node lists the frames that it has. A clean stop loses no answered frame."""
from network import (Content, Nodes, check_held, expect, left_overs, listen, make_key, natives, push,
                     wait_for_rest)

SIZES = {"f0": 0, "f1": 1, "f2": 255, "f3": 4096, "f4": 262_144, "f5": 262_145, "f6": 5_000_000}
SIZES.update({f"f{i}": 2000 + i for i in range(10, 210)})

with Nodes(2) as nodes:
    data = nodes.dataset(frames=0)
    key = make_key(nodes)
    content = Content(nodes, SIZES)
    for node, its_key in zip(nodes, (key, None)):
        listen(node, [data], its_key)
        for how in ("bytes", "fd"):
            answers, done = push(nodes, node.address, its_key, data, how, content.words())
            expect(answers == dict.fromkeys(SIZES, 0), f"{how}: {done}")
            check_held(node, data, content)
        numbers = sorted(int(name[1:]) for name in SIZES)
        expect(natives(nodes, node.address, its_key, data) == numbers, "the node's natives")
        figures = node.status()["network"]
        expect(figures["frames"] == 2 * len(SIZES) and figures["refused"] == figures["failed"] == 0,
               f"{figures}")
        expect(figures["bytes"] == 2 * sum(SIZES.values()), f"{figures}")
        wait_for_rest(node)
        metrics = node.ctl("status", "--prometheus").succeeded().stdout
        expect(f'zazen_network_frames_total{{node="{node.name}"}} {2 * len(SIZES)}\n' in metrics, metrics)
        waiting = f'zazen_dataset_waiting_files{{node="{node.name}",dataset="{data.path}"}} {len(SIZES)}\n'
        expect(waiting in metrics, metrics)

    content.write_origin(data)
    for node in nodes:
        nodes.serial(node, ["cat", *(data.file(name) for name in SIZES)]).succeeded()
        node.wait_for_copies(data, SIZES)
        check_held(node, data, content)
        node.stop()
        node.start()
        check_held(node, data, content)
        expect(left_overs(node, data) == [], "left over")

    # The same frame on two nodes, and the job reads it once (D14).
    nodes.mpirun("list_and_read_c", data).check_exactly_once()
