"""The worker that listens is killed, and zazend has no descriptor left to give to the next one.
When zazend has one, the node takes pushes again."""
import os
import signal

from network import BUILD, Content, Nodes, check_held, expect, free_port, make_key, push, wait_until
from nodes import is_sanitized, skip
from workers import Workers

if is_sanitized():
    skip("a sanitizer's run time must be the first library")

with Nodes(1) as nodes:
    data = nodes.dataset(frames=0, ordinary=False)
    content = Content(nodes, {f"f{seq}": 1000 for seq in range(4)})
    key, order = make_key(nodes), nodes.path("order")
    node, address = nodes[0], f"127.0.0.1:{free_port()}"
    node.configure([data], f'listen = "{address}"\nkey_file = "{key}"\n')
    node.start(["env", f"LD_PRELOAD={BUILD}/tests/push/librefuse_listener.so", f"REFUSE_LISTENER={order}"])
    with open(order, "w"):
        pass
    for worker in Workers(node.pid()).all():
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(order), "the refusal")
    answers, done = push(nodes, address, key, data, "bytes", content.words())
    expect(set(answers.values()) == {0}, f"{done}")
    check_held(node, data, content)
