"""A simulation that writes its frames to the shared file system, and has each pushed to a node of
the analysis cluster while it goes on computing; then it reads one of those that this node holds.

    ZAZEN_CONFIG=zazen.toml python3 push_frames.py /sim1 100

The frames here are named f0, f1, ... BODHI_LIBRARY names the library if it is not where the
loader looks.
"""
import ctypes
import os
import sys

NATIVE = 1  # BODHI_NATIVE: pushed to this node


class Figures(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "queued", "pushed", "dropped", "waiting", "spooled", "bytes", "memory_bytes",
        "spool_bytes")]


def load_library():
    library = ctypes.CDLL(os.environ.get("BODHI_LIBRARY", "libbodhi.so.0"))
    handle, number = ctypes.c_void_p, ctypes.c_uint64
    library.bodhi_open.restype = handle
    library.bodhi_open.argtypes = [ctypes.c_char_p]
    library.bodhi_close.argtypes = [handle]
    library.bodhi_error.restype = ctypes.c_char_p
    library.bodhi_write.argtypes = [handle, ctypes.c_char_p, number, ctypes.c_char_p,
                                    ctypes.c_size_t]
    library.bodhi_flush.argtypes = [handle, ctypes.c_int]
    library.bodhi_query_writer.argtypes = [handle, ctypes.POINTER(Figures), ctypes.c_size_t]
    library.bodhi_read.restype = ctypes.c_ssize_t
    library.bodhi_read.argtypes = [handle, ctypes.c_char_p, number, ctypes.c_char_p,
                                   ctypes.c_size_t, ctypes.c_int64]
    library.bodhi_query.restype = ctypes.c_ssize_t
    library.bodhi_query.argtypes = [handle, ctypes.c_char_p, ctypes.c_uint, number, number,
                                    ctypes.POINTER(number), ctypes.c_size_t]
    return library


def main():
    directory, frames = sys.argv[1], int(sys.argv[2])
    simdir = os.fsencode(directory)
    bodhi = load_library()
    nodes = bodhi.bodhi_open(None)
    if not nodes:
        sys.exit(bodhi.bodhi_error().decode())

    for seq in range(frames):
        frame = seq.to_bytes(8, "little") * 5000
        with open(os.path.join(directory, f"f{seq}"), "wb") as file:
            file.write(frame)
        # Returns at once. A failure is no reason to stop: the frame is at the origin.
        if bodhi.bodhi_write(nodes, simdir, seq, frame, len(frame)) != 0:
            print(f"frame {seq}: {bodhi.bodhi_error().decode()}", file=sys.stderr)

    if bodhi.bodhi_flush(nodes, 60000) != 0:
        print(bodhi.bodhi_error().decode(), file=sys.stderr)
    figures = Figures()
    bodhi.bodhi_query_writer(nodes, ctypes.byref(figures), ctypes.sizeof(figures))
    print(f"pushed {figures.pushed} dropped {figures.dropped}")

    held = (ctypes.c_uint64 * frames)()
    count = bodhi.bodhi_query(nodes, simdir, NATIVE, 0, frames - 1, held, frames)
    print(f"this node holds {count} of them")
    if count > 0:
        buffer = ctypes.create_string_buffer(1 << 20)
        got = bodhi.bodhi_read(nodes, simdir, held[0], buffer, len(buffer), 0)
        with open(os.path.join(directory, f"f{held[0]}"), "rb") as file:
            same = buffer.raw[:got] == file.read()
        print(f"read {got} bytes of frame {held[0]}, {'the same' if same else 'others'}")
    bodhi.bodhi_close(nodes)


if __name__ == "__main__":
    main()
