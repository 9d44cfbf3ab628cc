"""Opens each frame with netCDF4, both of its formats."""
import netCDF4

for seq in range(22):
    with netCDF4.Dataset(f"f{seq}.nc") as file:
        print(file.data_model, file.step, file.filepath(), file["positions"][:].sum(axis=0))
