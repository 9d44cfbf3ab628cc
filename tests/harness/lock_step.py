"""One process changes frames, and after each change another one looks at once. Others read the same frames
meanwhile, so fills are always under way.

    step = LockStep(data)                   # before the daemon starts
    step.run(node, writer, reader, starved)   # each a function: argv -> process

The frames come into place by rename(), with an old time: no copy of them is young, so nothing but the drop keeps an
old copy from being read. The reader looks for the copy itself, too: under its name there is the new one, or none.
"""
import os

from nodes import PYTHON
from processes import expect

FRAMES, SIZE = 3, 1 << 15

WRITER = """
import os, resource, sys, time
directory, first, count, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0.001
starved = sys.argv[4] == "starved"
os.stat(f'{directory}/f0') if os.path.exists(f'{directory}/f0') else None
if starved:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            os.dup(2)
    except OSError:
        pass
for i in range(first, first + count):
    # A fill is at its beginning, at its end, or done; the disk may take long to flush it.
    time.sleep(60 * pause if i % 8 == 7 else i * 7 % 11 * pause)
    frame = f'f{i % %d}'
    if i % 5 == 4:
        try:
            os.unlink(f'{directory}/{frame}')
        except FileNotFoundError:
            pass
        i = -1
    else:
        os.rename(f'{directory}/next{i}', f'{directory}/{frame}')
    os.write(1, f'{frame} {i}\\n'.encode())
    if os.read(0, 1) != b'.':
        sys.exit(1)
""".replace("%d", str(FRAMES))

READER = """
import os, sys
directory, cache, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
def look(path):
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return os.read(fd, size + 1)
    finally:
        os.close(fd)
for line in sys.stdin.buffer:
    frame, version = line.decode().split()
    wanted = version.encode().rjust(size, b'-') if int(version) >= 0 else None
    seen = look(f'{directory}/{frame}')
    try:
        copy = look(f'{cache}{directory}/{frame}')
    except PermissionError:  # zazend has closed the directory for a moment, to give it new rights
        copy = None
    if seen != wanted or copy not in (wanted, None):
        sys.exit(f'{frame} is of version {version}: saw {seen and seen[-8:]}, the copy is {copy and copy[-8:]}')
    os.write(1, b'.')
"""

FILLER = """
import os, sys, time
while True:
    time.sleep(0.003)  # or its requests wait behind each other, and come with files of the past
    for i in range(%d):
        try:
            with open(f'{sys.argv[1]}/f{i}', 'rb') as file: file.read()
        except FileNotFoundError:
            pass
""".replace("%d", str(FRAMES))


class LockStep:
    def __init__(self, data, count):
        """Makes the versions: no process that changes frames can make a file when it has no descriptor."""
        self._data, self._next, self._end = data, 0, count
        for i in range(count):
            path = f"{data.path}/next{i}"
            with open(path, "wb") as file:
                file.write(str(i).encode().rjust(SIZE, b"-"))
            os.chmod(path, 0o644)
            os.utime(path, (1e9, 1e9))

    def run(self, cache, start_writer, start_reader, count, starved=False):
        """start_writer(argv, stdin, stdout) and start_reader, which gives a Popen, run programs under the shim."""
        first, self._next = self._next, self._next + count
        expect(self._next <= self._end, "there are fewer versions")
        to_reader, from_writer = os.pipe()
        to_writer, from_reader = os.pipe()
        started = [start_reader([PYTHON, "-I", "-c", FILLER, self._data.path], None, None) for _ in range(2)]
        try:
            reader = start_reader([PYTHON, "-I", "-c", READER, self._data.path, cache, str(SIZE)],
                                  to_reader, from_reader)
            started.append(reader)
            writer = start_writer([PYTHON, "-I", "-c", WRITER, self._data.path, str(first), str(count),
                                   "starved" if starved else ""], to_writer, from_writer)
            started.append(writer)
            for fd in (to_reader, from_writer, to_writer, from_reader):
                os.close(fd)
            expect(reader.wait(90) == 0, "an old version was seen")
            expect(writer.wait(30) == 0, "the writer failed")
        finally:
            for process in started:
                process.kill()
                process.wait()
