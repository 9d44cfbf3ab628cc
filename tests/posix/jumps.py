"""siglongjmp out of an open leaves nothing of the shim behind: no descriptor and no blocked signal.
Later opens are hits and misses as usual. The daemon answers, is stopped, or is waited for."""
import signal

from node import FRAMES, PROGRAMS, Node, expect

for options in ('validate = "never"\n', "", 'fill = "wait"\n'):
    with Node(options=options) as node:
        def run(times, **environment):
            done = node.run([PROGRAMS / "jumps", node.dataset, times], environment)
            expect(done.returncode == 0, f"{done}")
            return done.stdout

        plain = run(300)
        expect(b"jumped 1 strangers 0 blocked 0" in plain, f"{plain}")
        node.start_daemon()
        node.warm(range(0, FRAMES, 2))
        shown = run(3000, **node.shim(ZAZEN_REPORT=str(node.report)))
        expect(shown == plain, f"{options}: {shown}\n{plain}")
        report = node.read_report()
        expect(report["hits"] > 0 and report["misses"] > 0, f"{report}")
        node.daemon.send_signal(signal.SIGSTOP)
        shown = run(60, **node.shim())
        node.daemon.send_signal(signal.SIGCONT)
        expect(shown == plain, f"{options}, stopped: {shown}\n{plain}")
