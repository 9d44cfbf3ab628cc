! A simulation that writes its frames to the shared file system, and has each pushed to a node of
! the analysis cluster while it goes on computing.
!
!   gfortran push_frames.f90 -o push_frames $(pkg-config --libs bodhi)
!   ZAZEN_CONFIG=zazen.toml ./push_frames /sim1 100
!
! The frames here are named f0, f1, ...
module bodhi
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(c) :: bodhi_writer_figures
    integer(c_int64_t) :: queued, pushed, dropped, waiting, spooled, bytes
    integer(c_int64_t) :: memory_bytes, spool_bytes
  end type

  interface
    type(c_ptr) function bodhi_open(config) bind(c)
      import :: c_ptr
      type(c_ptr), value :: config
    end function
    subroutine bodhi_close(handle) bind(c)
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
    integer(c_int) function bodhi_write(handle, simdir, seq, data, size) bind(c)
      import :: c_ptr, c_char, c_int, c_int64_t, c_size_t
      type(c_ptr), value :: handle, data
      character(kind=c_char), intent(in) :: simdir(*)
      integer(c_int64_t), value :: seq
      integer(c_size_t), value :: size
    end function
    integer(c_int) function bodhi_flush(handle, timeout_ms) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle
      integer(c_int), value :: timeout_ms
    end function
    integer(c_int) function bodhi_query_writer(handle, figures, size) bind(c)
      import :: c_ptr, c_int, c_size_t, bodhi_writer_figures
      type(c_ptr), value :: handle
      type(bodhi_writer_figures), intent(out) :: figures
      integer(c_size_t), value :: size
    end function
  end interface
end module

program push_frames
  use bodhi
  implicit none
  integer, parameter :: atoms_in_frame = 10000
  real(c_float), target :: atoms(atoms_in_frame)
  character(len=4096) :: directory, word
  integer(c_int64_t) :: frames, seq
  integer :: i, unit
  type(c_ptr) :: nodes
  type(bodhi_writer_figures) :: figures

  call get_command_argument(1, directory)
  call get_command_argument(2, word)
  read (word, *) frames
  nodes = bodhi_open(c_null_ptr)
  if (.not. c_associated(nodes)) stop 'no configuration'

  do seq = 0, frames - 1
    atoms = [(0.5 * real(seq) + real(i), i = 1, atoms_in_frame)]
    write (word, '(i0)') seq
    open (newunit=unit, file=trim(directory) // '/f' // trim(word), access='stream', &
          form='unformatted', status='replace')
    write (unit) atoms
    close (unit)
    ! Returns at once. A failure is no reason to stop: the frame is at the origin.
    if (bodhi_write(nodes, trim(directory) // c_null_char, seq, c_loc(atoms), &
                    c_sizeof(atoms)) /= 0) print '(a, i0)', 'not pushed: ', seq
  end do

  if (bodhi_flush(nodes, 60000_c_int) /= 0) print '(a)', 'not all is pushed yet'
  if (bodhi_query_writer(nodes, figures, c_sizeof(figures)) == 0) &
    print '(a, i0, a, i0)', 'pushed ', figures%pushed, ' dropped ', figures%dropped
  call bodhi_close(nodes)
end program
