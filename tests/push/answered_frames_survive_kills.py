"""The daemon is killed (SIGKILL) again and again while a writer pushes over TCP. Every answered
frame is there afterwards, whole, and after a second push each is there once. At SIGTERM the daemon
answers complete frames."""
import random
import subprocess
import threading

from network import PUSH_FRAMES, Content, Nodes, check_held, expect, left_overs, listen, push, wait_until

SIZES = {f"f{i}": (i * 7919) % 200_000 for i in range(300)}
ROUNDS = 6

with Nodes(1) as nodes:
    node = nodes[0]
    data = nodes.dataset(frames=0)
    content = Content(nodes, SIZES)
    listen(node, [data])
    chance = random.Random(9)
    answered = set()
    for step in range(ROUNDS):
        names = [name for name in SIZES if name not in answered]
        writer = subprocess.Popen([PUSH_FRAMES, node.address, "-", data.path, "bytes",
                                   *content.words(names)], stdout=subprocess.PIPE, text=True)
        wanted, seen, enough = chance.randrange(10, 40), [], threading.Event()

        def listen_to():
            for line in writer.stdout:
                name, status = line.split()
                expect(status == "0", f"{line}")
                seen.append(name)
                if len(seen) >= wanted:
                    enough.set()
            enough.set()
        reader = threading.Thread(target=listen_to)
        reader.start()
        expect(enough.wait(60), "no answers")
        if step == ROUNDS - 1:
            node.stop()
        else:
            node.kill()
        writer.wait(60)
        reader.join()
        answered |= set(seen)
        expect(len(answered) < len(SIZES), "nothing was left to be pushed")
        node.start()
        wait_until(lambda: node.status()["reconciled"], "reconciliation")
        held = {f"f{number}" for number in map(int, left_overs(node, data))}
        expect(answered <= held, f"round {step}: {sorted(answered - held)} were answered and are gone")
        check_held(node, data, content, held)
    answers, done = push(nodes, node.address, None, data, "bytes", content.words())
    expect(answers == dict.fromkeys(SIZES, 0), f"{done}")
    check_held(node, data, content)
    print(f"{len(answered)} answered over {ROUNDS} kills")
