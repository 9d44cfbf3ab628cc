"""A Python program (mpi4py, os.listdir) reads each frame once, all from its own node."""
from all_native import check_all_native

check_all_native("list_and_read.py")
