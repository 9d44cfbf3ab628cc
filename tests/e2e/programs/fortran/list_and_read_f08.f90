! The ordinary program in Fortran with `use mpi_f08`.
program list_and_read_f08
  use mpi_f08
  use frame_reading
  implicit none
  integer :: rank
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call list_and_read(rank)
  call MPI_Finalize()
end program
