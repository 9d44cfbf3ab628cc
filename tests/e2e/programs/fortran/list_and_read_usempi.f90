! The ordinary program in Fortran with `use mpi`, and MPI_Init_thread.
program list_and_read_usempi
  use mpi
  use frame_reading
  implicit none
  integer :: rank, provided, ierr
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call list_and_read(rank)
  call MPI_Finalize(ierr)
end program
