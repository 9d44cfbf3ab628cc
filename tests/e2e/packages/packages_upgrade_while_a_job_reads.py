"""In a fresh Debian 12 tree the packages are installed, upgraded while a job reads, removed and purged.
The job reads the right bytes all the time: with the old daemon, without one, and with the new one."""
import os
import pathlib
import shutil

from nodes import BUILD, Nodes, is_sanitized, skip
from processes import expect, run

if os.geteuid() != 0 or is_sanitized() or not shutil.which("debootstrap"):
    skip("needs root, debootstrap and a build without sanitizer")
SCRIPT = pathlib.Path(__file__).with_name("upgrade_and_removal.sh")

with Nodes(1) as nodes:
    tree, env = nodes.path("debian"), dict(nodes.env, LANG="C")
    # The packages come from where this machine has its own.
    indexes = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], env).succeeded()
    run(["debootstrap", "--variant=minbase", "bookworm", tree, indexes.stdout.split()[0]], env,
        seconds=600).succeeded()
    os.remove(f"{tree}/etc/apt/sources.list")
    shutil.copytree("/etc/apt", f"{tree}/etc/apt", dirs_exist_ok=True, symlinks=True)
    shutil.copy("/etc/resolv.conf", f"{tree}/etc/resolv.conf")

    run(["cpack", "--config", f"{BUILD}/CPackConfig.cmake", "-B", f"{tree}/packages/old"], env, cwd=BUILD,
        seconds=300).succeeded()
    shutil.rmtree(f"{tree}/packages/old/_CPack_Packages")
    os.makedirs(f"{tree}/packages/new")
    for package in pathlib.Path(f"{tree}/packages/old").glob("*.deb"):
        unpacked = nodes.path(f"new-{package.stem}")
        run(["dpkg-deb", "--raw-extract", str(package), unpacked], env).succeeded()
        control = pathlib.Path(unpacked, "DEBIAN/control")
        control.write_text(control.read_text().replace("0.1.0", "0.1.1"))
        run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", unpacked, f"{tree}/packages/new"], env).succeeded()

    shutil.copy(SCRIPT, f"{tree}/packages/script")
    done = run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                f"mount --bind '{tree}' '{tree}' && mount -t proc proc '{tree}/proc' && "
                f"mount --bind /dev '{tree}/dev' && mount -t tmpfs tmpfs '{tree}/run' && "
                f"exec chroot '{tree}' sh /packages/script"], env, seconds=900).succeeded()
    expect(done.stdout.endswith("all went well\n"), f"{done}")
