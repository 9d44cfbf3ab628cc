! The ordinary program in Fortran with mpif.h.
program list_and_read_mpifh
  use frame_reading
  implicit none
  include 'mpif.h'
  integer :: rank, ierr
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call list_and_read(rank)
  call MPI_FINALIZE(ierr)
end program
