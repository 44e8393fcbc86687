! The heat equation in two dimensions, in modern Fortran (use mpi_f08): a grid of ranks by MPI_Cart_create,
! neighbours by MPI_Cart_shift, and an exchange of the four sides of each rank's part in every step.
!
! Matching: four receives and four sends per step, with source and tag. Those beyond the border of the domain use
! MPI_PROC_NULL and are no messages. Rows are a derived datatype. Every tenth step uses MPI_Sendrecv instead.
!
! The product of two sines is zero on the border and an eigenvector of the step, so the values after any number of
! steps are known. heat [--cells N] [--steps N] [--count PREFIX]
program heat
  use, intrinsic :: iso_fortran_env, only: real64, int64, output_unit, error_unit
  use mpi_f08
  implicit none
  integer, parameter :: left = 1, right = 2, below = 3, above = 4
  real(real64), parameter :: pi = acos(-1.0_real64), flow = 0.2_real64
  integer :: cells = 32, steps = 100, ranks, rank, grid(2) = 0, place(2), beside(4), step, i, j, all_right, is_right
  integer(int64) :: sends = 0, receives = 0, proc_null = 0, bytes = 0, requests_made = 0, pairs_made = 0
  character(len=1000) :: prefix = ''
  real(real64), allocatable :: u(:, :), next(:, :)
  real(real64) :: factor, error, worst
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: row

  call MPI_Init()
  call read_settings()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Dims_create(ranks, 2, grid)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, grid, [.false., .false.], .true., comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Cart_coords(comm, rank, 2, place)
  call MPI_Cart_shift(comm, 0, 1, beside(left), beside(right))
  call MPI_Cart_shift(comm, 1, 1, beside(below), beside(above))
  call MPI_Type_vector(cells, 1, cells + 2, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)

  allocate (u(0:cells + 1, 0:cells + 1), next(0:cells + 1, 0:cells + 1))
  u = 0
  next = 0
  do j = 1, cells
    do i = 1, cells
      u(i, j) = wave(i, j)
    end do
  end do
  do step = 1, steps
    if (mod(step, 10) == 0) then
      call exchange_in_pairs()
    else
      call exchange()
    end if
    do j = 1, cells
      do i = 1, cells
        next(i, j) = u(i, j) + flow*(u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4*u(i, j))
      end do
    end do
    call move_over()
  end do

  factor = (1 - 2*flow*(2 - cos(angle(1)) - cos(angle(2))))**steps
  error = 0
  do j = 1, cells
    do i = 1, cells
      error = max(error, abs(u(i, j) - factor*wave(i, j)))
    end do
  end do
  call MPI_Type_free(row)
  call MPI_Comm_free(comm)
  is_right = merge(1, 0, error < 1e-12_real64)
  call MPI_Allreduce(is_right, all_right, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
  call MPI_Allreduce(error, worst, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (rank == 0) then
    write (output_unit, '(a,i0,a,i0,a,i0,a,i0,a,es7.1,2a)') 'heat: ', ranks, ' ranks as ', grid(1), ' x ', grid(2), &
      ', ', steps, ' steps, error ', worst, ': ', trim(merge('right', 'WRONG', all_right == 1))
  end if
  if (prefix /= '') call write_counts()
  call MPI_Finalize()
  if (all_right /= 1) stop 1

contains

  ! Part of half a period per cell.
  real(real64) function angle(axis)
    integer, intent(in) :: axis
    angle = pi/(grid(axis)*cells + 1)
  end function

  real(real64) function wave(i, j)
    integer, intent(in) :: i, j
    wave = sin(angle(1)*(place(1)*cells + i))*sin(angle(2)*(place(2)*cells + j))
  end function

  ! The tag is the side of the sender.
  subroutine exchange()
    type(MPI_Request) :: requests(8)
    call MPI_Irecv(u(0, 1), 1, row, beside(left), right, comm, requests(1))
    call MPI_Irecv(u(cells + 1, 1), 1, row, beside(right), left, comm, requests(2))
    call MPI_Irecv(u(1, 0), cells, MPI_DOUBLE_PRECISION, beside(below), above, comm, requests(3))
    call MPI_Irecv(u(1, cells + 1), cells, MPI_DOUBLE_PRECISION, beside(above), below, comm, requests(4))
    call MPI_Isend(u(1, 1), 1, row, beside(left), left, comm, requests(5))
    call MPI_Isend(u(cells, 1), 1, row, beside(right), right, comm, requests(6))
    call MPI_Isend(u(1, 1), cells, MPI_DOUBLE_PRECISION, beside(below), below, comm, requests(7))
    call MPI_Isend(u(1, cells), cells, MPI_DOUBLE_PRECISION, beside(above), above, comm, requests(8))
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
    requests_made = requests_made + 1
    call count_sides()
  end subroutine

  subroutine exchange_in_pairs()
    type(MPI_Status) :: status
    call MPI_Sendrecv(u(1, 1), 1, row, beside(left), left, u(cells + 1, 1), 1, row, beside(right), left, comm, status)
    call MPI_Sendrecv(u(cells, 1), 1, row, beside(right), right, u(0, 1), 1, row, beside(left), right, comm, status)
    call MPI_Sendrecv(u(1, 1), cells, MPI_DOUBLE_PRECISION, beside(below), below, u(1, cells + 1), cells, &
                      MPI_DOUBLE_PRECISION, beside(above), below, comm, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(1, cells), cells, MPI_DOUBLE_PRECISION, beside(above), above, u(1, 0), cells, &
                      MPI_DOUBLE_PRECISION, beside(below), above, comm, MPI_STATUS_IGNORE)
    pairs_made = pairs_made + 1
    call count_sides()
  end subroutine

  ! One send and one receive for each side with a neighbour.
  subroutine count_sides()
    integer :: there
    there = count(beside /= MPI_PROC_NULL)
    sends = sends + there
    receives = receives + there
    proc_null = proc_null + 2*(4 - there)
    bytes = bytes + 8_int64*cells*there
  end subroutine

  subroutine move_over()
    real(real64), allocatable :: old(:, :)
    call move_alloc(u, old)
    call move_alloc(next, u)
    call move_alloc(old, next)
  end subroutine

  subroutine write_counts()
    integer :: file
    character(len=1100) :: path
    write (path, '(2a,i0,a)') trim(prefix), '.', rank, '.json'
    open (newunit=file, file=trim(path), action='write', status='replace')
    write (file, '(*(g0))') '{"rank":', rank, ',"sends":', sends, ',"receives":', receives, &
      ',"wildcards":{"none":', receives, ',"any_source":0,"any_tag":0,"both":0},"matched_receives":0,"proc_null":', &
      proc_null, ',"bytes_sent":', bytes, ',"calls":{"MPI_Isend":', 4*requests_made, ',"MPI_Irecv":', &
      4*requests_made, ',"MPI_Waitall":', requests_made, ',"MPI_Sendrecv":', 4*pairs_made, '}}'
    close (file)
  end subroutine

  subroutine read_settings()
    integer :: i, failure
    character(len=1000) :: name, text
    do i = 1, command_argument_count() - 1, 2
      call get_command_argument(i, name)
      call get_command_argument(i + 1, text)
      failure = 0
      if (name == '--cells') then
        read (text, *, iostat=failure) cells
      else if (name == '--steps') then
        read (text, *, iostat=failure) steps
      else if (name == '--count') then
        prefix = text
      else
        failure = 1
      end if
      if (failure /= 0 .or. cells < 1 .or. steps < 1) call complain(name)
    end do
    if (mod(command_argument_count(), 2) /= 0) call complain('a name without a value')
  end subroutine

  subroutine complain(what)
    character(len=*), intent(in) :: what
    write (error_unit, '(3a)') 'heat: what is ', trim(what), '? Usage: heat [--cells N] [--steps N] [--count PREFIX]'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end subroutine

end program
