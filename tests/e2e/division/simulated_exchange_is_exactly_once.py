"""The exchange on 8 simulated hosts gives each frame to exactly one host, evenly, and sends the
claims."""
import json
import os
import shutil
import subprocess
import sys

FRAMES, HOSTS = 1_000_000, 8
SIMULATE = os.path.join(os.path.dirname(__file__), "..", "..", "simulation", "simulate")

if not shutil.which("smpicxx") or not shutil.which("smpirun"):
    print("skipped: SimGrid's smpicxx is not installed (libsimgrid-dev)")
    sys.exit(77)


def simulated(workload):
    done = subprocess.run([SIMULATE, "--hosts", str(HOSTS), "--frames", "1e6", "--workload", workload, "--json"],
                          stdout=subprocess.PIPE, check=True, text=True)
    result = json.loads(done.stdout)
    assert (result["hosts"], result["frames"], result["workload"]) == (HOSTS, FRAMES, workload), result
    assert result["exactly_once"] is True, result
    assert result["most_frames_on_a_host"] == FRAMES // HOSTS, result
    # A host sends its claims to all others over a link of 125 MB/s.
    sent = result["claim_bytes_per_host"] * (HOSTS - 1) / HOSTS
    assert result["exchange_seconds"] > sent / 125e6 + result["exchange_compute_seconds"], result
    assert result["exchange_compute_seconds"] > 0 and result["paper_compute_seconds"] > 0, result
    # A ring carries 7/8 of a bitmap's bytes twice.
    rounds = 1 if workload == "roundrobin" else 3
    assert result["paper_seconds"] > rounds * FRAMES / 8 * 2 * (HOSTS - 1) / HOSTS / 125e6, result
    return result


roundrobin, blocks, holes = (simulated(workload) for workload in ("roundrobin", "blocks", "holes"))

# In roundrobin a host holds 1 of 8 frames, without any order: a bit for each frame of all.
assert FRAMES / 8 <= roundrobin["claim_bytes_per_host"] <= FRAMES / 8 * 1.01, roundrobin
assert roundrobin["residues"] == 0 and blocks["residues"] == 0
assert blocks["claim_bytes_per_host"] < 1000, blocks
assert 0.045 * FRAMES < holes["residues"] < 0.055 * FRAMES, holes
