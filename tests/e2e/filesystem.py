"""A small ext4 file system in a file, mounted; for root only."""
import os
import subprocess

from nodes import skip
from processes import expect


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def make_image(image, megabytes):
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)


class FileSystem:
    """In an image of that size, or in one that is there."""

    def __init__(self, image, place, megabytes=None):
        if os.geteuid() != 0:
            skip("mounting needs root")
        self.place = place
        os.makedirs(place)
        if megabytes is not None:
            make_image(image, megabytes)
        self._must("mkfs.ext4", "-q", "-F", "-m", "0", image)
        status, said = call("mount", "-o", "loop", image, place)
        if status != 0:
            skip(f"no loop devices here: {said}")
        os.chmod(place, 0o700)

    def _must(self, *words):
        status, said = call(*words)
        expect(status == 0, f"{words}: {said}")

    def remount(self, option):
        self._must("mount", "-o", f"remount,{option}", self.place)

    def set_queue(self, key, value):
        """What the block device says of itself, such as rotational."""
        device = os.stat(self.place).st_dev
        with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/queue/{key}",
                  "w") as file:
            file.write(str(value))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._must("umount", self.place)
        else:
            call("umount", "--lazy", self.place)
