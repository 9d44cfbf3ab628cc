"""Frame numbers above 2^32 and up to 2^64-1 work; a larger one is an ordinary name."""
from nodes import Nodes

with Nodes(2) as nodes:
    numbers = [0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**53 + 1, 2**63, 2**64 - 2, 2**64 - 1]
    data = nodes.dataset(frames=numbers)
    data.write(f"f{2**64}", 10)
    data.write("f99999999999999999999999999", 10)
    nodes.start()
    nodes.push(data)
    job = nodes.mpirun("list_and_read_c", data)
    job.check_exactly_once()
    job.check_report(hits=9, misses=0)
