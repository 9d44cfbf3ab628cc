! What the three Fortran programs share: the list comes from `ls`, a child process, because
! Fortran has no call for it; the files are read by stream access.
module frame_reading
  use, intrinsic :: iso_fortran_env, only: int8, int64
  implicit none
contains

  subroutine list_and_read(rank)
    integer, intent(in) :: rank
    character(len=4096) :: directory, out_directory, line
    character(len=16) :: number
    integer :: names, out, status
    call get_command_argument(1, directory)
    call get_command_argument(2, out_directory)
    write (number, '(i0)') rank
    call execute_command_line("ls -p '" // trim(directory) // "' > '" // &
        trim(out_directory) // "/names-" // trim(number) // "'", exitstat=status)
    if (status /= 0) error stop 'ls failed'
    open (newunit=names, file=trim(out_directory) // '/names-' // trim(number), &
        status='old', action='read')
    open (newunit=out, file=trim(out_directory) // '/rank-' // trim(number), &
        status='replace', action='write')
    do
      read (names, '(a)', iostat=status) line
      if (status /= 0) exit
      if (line(len_trim(line):len_trim(line)) == '/') then
        write (out, '(a)') 'list ' // line(:len_trim(line) - 1)
      else
        write (out, '(a)') 'list ' // trim(line)
        call read_file(out, trim(directory), trim(line))
      end if
    end do
    close (names)
    close (out)
  end subroutine

  subroutine read_file(out, directory, name)
    integer, intent(in) :: out
    character(len=*), intent(in) :: directory, name
    integer(int8), allocatable :: bytes(:)
    integer(int64) :: length, a, b, i
    integer :: file
    open (newunit=file, file=directory // '/' // name, access='stream', form='unformatted', &
        status='old', action='read')
    inquire (unit=file, size=length)
    allocate (bytes(length))
    if (length > 0) read (file) bytes
    close (file)
    a = 1
    b = 0
    do i = 1, length
      a = mod(a + iand(int(bytes(i), int64), 255_int64), 65521_int64)
      b = mod(b + a, 65521_int64)
    end do
    write (out, '(a,i0,1x,i0,1x,a)') 'read ', length, ior(ishft(b, 16), a), name
  end subroutine
end module
