"""LAMMPS computes anew what an input says, for every frame that was dumped: one `rerun` of them all.

    zazenctl run -- python3 lammps_rerun.py input.lammps /sim1 [BEGIN END STRIDE]
"""
import subprocess
import sys

import zazen


def main():
    script, directory, *selection = sys.argv[1:]
    frames = zazen.own_frames(directory, None, *map(int, selection))
    with open(script) as file:
        commands = f"{file.read()}\nrerun {' '.join(frames)} dump x y z\n"
    done = subprocess.run(["lmp", "-log", "none", "-nocite"], input=commands, text=True, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
