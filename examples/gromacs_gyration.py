"""The radius of gyration in each frame, by `gmx gyrate`, four frames at a time.

    zazenctl run -- python3 gromacs_gyration.py topology.pdb /sim1
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import zazen


def gyration(topology, path):
    with tempfile.TemporaryDirectory() as directory:
        table = os.path.join(directory, "gyration.xvg")
        subprocess.run(["gmx", "gyrate", "-quiet", "-s", topology, "-f", path, "-o", table], input="0\n", text=True,
                       check=True, capture_output=True, cwd=directory)
        with open(table) as file:
            return [line.split()[:2] for line in file if line[0] not in "#@"]


def main():
    topology, directory = os.path.abspath(sys.argv[1]), sys.argv[2]
    frames = zazen.own_frames(os.path.abspath(directory))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda path: gyration(topology, path), frames):
            for time, radius in rows:
                print(f"{float(time):.1f} {radius}")


if __name__ == "__main__":
    main()
