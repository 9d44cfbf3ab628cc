! Opens each file as old programs do, without action=, reads its first bytes and closes it.
program open_for_both
  implicit none
  character(len=4096) :: path
  character(len=8) :: bytes
  integer :: i, unit, status
  do i = 1, command_argument_count()
    call get_command_argument(i, path)
    open(newunit=unit, file=trim(path), access='stream', form='unformatted', status='old', &
         iostat=status)
    if (status /= 0) stop 1
    read(unit, iostat=status) bytes
    if (status /= 0) stop 2
    close(unit)
  end do
end program
