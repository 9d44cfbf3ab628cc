! Every rank reads what it sees but for the last name, and ranks other than 0 go on writing for a second after
! MPI_Finalize. The unit is not closed: the run time flushes it when the program ends.
program write_after_finalize_f08
  use mpi_f08
  use frame_reading
  implicit none
  character(len=4096) :: directory, out_directory, line, next
  character(len=16) :: number
  integer :: rank, names, out, status, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, directory)
  call get_command_argument(2, out_directory)
  write (number, '(i0)') rank
  call execute_command_line("cd '" // trim(directory) // "' && ls -d f[0-9]* > '" // &
      trim(out_directory) // "/names-" // trim(number) // "'", exitstat=status)
  if (status /= 0) error stop 'ls failed'
  open (newunit=names, file=trim(out_directory) // '/names-' // trim(number), status='old', action='read')
  open (newunit=out, file=trim(out_directory) // '/rank-' // trim(number), status='replace', action='write')
  read (names, '(a)') line
  do
    read (names, '(a)', iostat=status) next
    if (status /= 0) exit
    call read_file(out, trim(directory), trim(line))
    line = next
  end do
  call MPI_Finalize()
  do i = 1, 20
    if (rank /= 0) call execute_command_line('sleep 0.05')
    write (out, '(a,i0)') 'late ', i
    print '(a,i0,a,i0)', 'rank ', rank, ' late ', i
  end do
end program
