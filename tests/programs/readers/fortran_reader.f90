! Reads the frames f1 to f21 of the current directory line by line, as numbers, and as bytes.
program fortran_reader
  implicit none
  integer :: seq, number, lines, status, unit, size_bytes
  real :: x, total
  character(len=16) :: name, word
  character(len=1), allocatable :: bytes(:)
  character(len=200) :: message
  logical :: there

  do seq = 1, 21
    write (name, '(a, i0)') 'f', seq
    inquire (file=name, exist=there, size=size_bytes)
    open (newunit=unit, file=name, status='old', action='read')
    lines = 0
    total = 0
    do
      read (unit, *, iostat=status) number, word, x
      if (status /= 0) exit
      lines = lines + 1
      total = total + x
    end do
    rewind (unit)
    read (unit, '(a)') word
    close (unit)
    print *, trim(name), there, size_bytes, lines, total, word

    open (newunit=unit, file=name, access='stream', form='unformatted', action='read')
    allocate (bytes(size_bytes))
    read (unit) bytes
    inquire (unit=unit, pos=number)
    close (unit)
    print *, number, sum(ichar(bytes))
    deallocate (bytes)
  end do

  open (newunit=unit, file='f404', status='old', action='read', iostat=status, iomsg=message)
  print *, status, trim(message)
end program
