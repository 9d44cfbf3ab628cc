"""Scientific formats and the programs that read them."""
from case import looks, on, reads, writes

PYTHON = "/usr/bin/python3"


def script(name, *more):
    return (PYTHON, f"{{readers}}/{name}.py", *more)


PROGRAMS = {
    "h5py": on("hdf5", reads(script("h5py_frames"))),
    "h5dump": on("hdf5", reads("h5dump {frames}"), reads("h5dump -p -H f20.h5"),
                 reads("h5ls -r f3.h5"), reads("h5diff -r f3.h5 f4.h5", 1),
                 looks("h5dump f404.h5", 1)),
    "ncdump": on("netcdf", reads("ncdump f3.nc"), reads("ncdump f4.nc"), reads("ncdump -h f20.nc"),
                 reads("ncdump -k f5.nc"), writes("nccopy f6.nc {out}/f6.nc")),
    "netcdf4": on("netcdf", reads(script("netcdf_frames"))),
    "sqlite3": on(
        "sqlite",
        reads(("sqlite3", "-readonly", "f3.db", "select * from atoms order by x")),
        reads(("sqlite3", "-readonly", "{data}/f4.db", ".dump")),
        reads(("sqlite3", "-readonly", "f5.db", "attach 'file:f6.db?mode=ro' as b; "
               "select sum(x) from atoms; select sum(x) from b.atoms")),
        reads(("sqlite3", "-readonly", "f7.db", "delete from atoms"), 8),
    ),
    "imagemagick": on("png", reads(("identify", "-format", "%f %m %w %h %k %B\n", "{frames}")),
                      reads("convert f3.png txt:-"), reads("convert f1.png f2.png -append pgm:-"),
                      reads("compare -metric AE f3.png f4.png null:", 1)),
    "mdtraj": on("xtc", reads(script("mdtraj_frames"))),
    "mdtraj_dcd": on("dcd", reads(script("mdtraj_frames"))),
    "mdanalysis": on("xtc", reads(script("mdanalysis_frames", "without-offsets")),
                     reads(script("mdanalysis_frames", "with-offsets"))),
    "mdanalysis_dcd": on("dcd", reads(script("mdanalysis_frames", "without-offsets"))),
    "mdanalysis_pdb": on("pdb", reads(script("mdanalysis_frames", "without-offsets"))),
    "mdconvert": on("xtc", writes("mdconvert-mdtraj -o {out}/all.xtc {frames}"),
                    writes("mdconvert-mdtraj -o {out}/f3.trr f3.xtc")),
    "openbabel": on("pdb", reads("obabel -ipdb {frames} -oxyz"),
                    writes("obabel f3.pdb -O {out}/f3.mol2"), looks("obabel f404.pdb -oxyz")),
}
