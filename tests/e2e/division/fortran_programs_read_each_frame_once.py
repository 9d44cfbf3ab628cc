"""Fortran programs (mpi_f08, use mpi, mpif.h) read each frame once; `ls`, a child, lists."""
from all_native import check_all_native

check_all_native("list_and_read_f08", "list_and_read_usempi", "list_and_read_mpifh")
