"""Opens each frame with h5py, one by name, one through a file object, one in memory."""
import h5py

for seq in range(22):
    name = f"f{seq}.h5"
    with h5py.File(name, "r") as file:
        print(file.filename, sorted(file), file["positions"][:].sum(), file["step"][()])
        print(dict(file["positions"].attrs), file["packed"][:].sum())
    with open(name, "rb") as raw, h5py.File(raw, "r") as file:
        print(file["positions"][3])
    with h5py.File(name, "r", driver="core", backing_store=False) as file:
        print(file["positions"][4], file.id.get_filesize())
try:
    h5py.File("f404.h5", "r")
except OSError as error:
    print(error)
