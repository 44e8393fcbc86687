! Receives wait in a full queue: the Fortran module mpi.
!
!     mpiexec -n 2..4 status
program status_test
  use mpi
  implicit none
  integer, parameter :: fillers = 200, messages = 10, ints = 4
  integer :: rank, ranks, left, right, ierror, failures, sum, at, index, done, value
  integer :: filler(fillers), fill_requests(fillers), fill_values(fillers)
  integer :: in(ints, messages), out(ints), requests(messages), sends(messages), indices(messages)
  integer, volatile :: received
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, messages)
  integer :: persistent, bottom_type
  integer(kind=MPI_ADDRESS_KIND) :: address(1)
  logical :: flag

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  failures = 0
  do at = 1, fillers
    filler(at) = -1
    call MPI_Irecv(filler(at), 1, MPI_INTEGER, left, 1000 + at, MPI_COMM_WORLD, fill_requests(at), ierror)
  end do

  ! MPI_Irecv with MPI_Wait, MPI_Waitall and MPI_Testsome.
  call post_all()
  do at = 1, messages
    call MPI_Wait(requests(at), status, ierror)
    call check_status(status, left, at, ints)
    call check(requests(at) == MPI_REQUEST_NULL, 'request after MPI_Wait')
  end do
  call check_data()
  call post_all()
  call MPI_Waitall(messages, requests, statuses, ierror)
  do at = 1, messages
    call check_status(statuses(:, at), left, at, ints)
  end do
  call check_data()
  call post_all()
  call MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE, ierror)
  call check_data()
  call post_all()
  done = 0
  do while (done < messages)
    call MPI_Testsome(messages, requests, value, indices, statuses, ierror)
    do at = 1, value
      call check_status(statuses(:, at), left, indices(at), ints)
    end do
    done = done + value
  end do
  call check_data()
  call MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE, ierror)

  ! MPI_Probe and MPI_Recv.
  out = rank
  call MPI_Isend(out, ints, MPI_INTEGER, right, 20, MPI_COMM_WORLD, sends(1), ierror)
  call MPI_Probe(MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, status, ierror)
  call check_status(status, left, 20, ints)
  call MPI_Recv(in, ints, MPI_INTEGER, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call check(all(in(:, 1) == left), 'data of MPI_Recv')
  call MPI_Wait(sends(1), MPI_STATUS_IGNORE, ierror)

  ! MPI_Sendrecv and MPI_Iprobe.
  call MPI_Sendrecv(out, ints, MPI_INTEGER, right, 21, in, ints, MPI_INTEGER, left, 21, MPI_COMM_WORLD, status, ierror)
  call check_status(status, left, 21, ints)
  call MPI_Iprobe(left, 999, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
  call check(.not. flag, 'flag of MPI_Iprobe')

  ! A persistent receive.
  call MPI_Recv_init(in, ints, MPI_INTEGER, left, 22, MPI_COMM_WORLD, persistent, ierror)
  do at = 1, 5
    out = rank + at
    call MPI_Start(persistent, ierror)
    call MPI_Send(out, ints, MPI_INTEGER, right, 22, MPI_COMM_WORLD, ierror)
    call MPI_Wait(persistent, status, ierror)
    call check_status(status, left, 22, ints)
    call check(all(in(:, 1) == left + at), 'data of a persistent receive')
  end do
  call MPI_Request_free(persistent, ierror)

  ! MPI_BOTTOM.
  call MPI_Get_address(received, address(1), ierror)
  call MPI_Type_create_hindexed(1, (/1/), address, MPI_INTEGER, bottom_type, ierror)
  call MPI_Type_commit(bottom_type, ierror)
  received = -1
  call MPI_Irecv(MPI_BOTTOM, 1, bottom_type, left, 23, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send(rank, 1, MPI_INTEGER, right, 23, MPI_COMM_WORLD, ierror)
  call MPI_Wait(requests(1), status, ierror)
  call check(received == left, 'data of MPI_BOTTOM')
  call MPI_Type_free(bottom_type, ierror)

  ! MPI_IN_PLACE, and MPI_PROC_NULL.
  value = 1
  call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(value == ranks, 'sum of MPI_IN_PLACE')
  call MPI_Irecv(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call check(value == ranks, 'buffer of a receive from MPI_PROC_NULL')

  ! MPI_Waitany.
  call MPI_Irecv(value, 1, MPI_INTEGER, left, 25, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Send(rank, 1, MPI_INTEGER, right, 25, MPI_COMM_WORLD, ierror)
  call MPI_Waitany(2, requests, index, status, ierror)
  call check(index == 2 .and. status(MPI_TAG) == 25, 'MPI_Waitany')

  ! Cancel.
  call MPI_Irecv(value, 1, MPI_INTEGER, left, 24, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Cancel(requests(1), ierror)
  call MPI_Wait(requests(1), status, ierror)
  call MPI_Test_cancelled(status, flag, ierror)
  call check(flag, 'cancelled receive')

  do at = 1, fillers
    fill_values(at) = at
    call MPI_Send(fill_values(at), 1, MPI_INTEGER, right, 1000 + at, MPI_COMM_WORLD, ierror)
  end do
  call MPI_Waitall(fillers, fill_requests, MPI_STATUSES_IGNORE, ierror)
  do at = 1, fillers
    call check(filler(at) == at, 'filling receive')
  end do
  call MPI_Allreduce(failures, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. sum == 0) print '(a)', 'status: right'
  call MPI_Finalize(ierror)
  if (sum /= 0) stop 1

contains

  ! Posts all receives, then sends all messages in reverse order.
  subroutine post_all()
    integer :: i
    if (done_before()) call MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE, ierror)
    in = -1
    do i = 1, messages
      call MPI_Irecv(in(1, i), ints, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    out = rank
    do i = messages, 1, -1
      call MPI_Isend(out, ints, MPI_INTEGER, right, i, MPI_COMM_WORLD, sends(i), ierror)
    end do
  end subroutine

  ! Whether sends of an earlier call of post_all exist.
  logical function done_before()
    logical, save :: has_run = .false.
    done_before = has_run
    has_run = .true.
  end function

  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(*), intent(in) :: text
    if (condition) return
    failures = failures + 1
    print '(a, i0, 2a)', 'status: rank ', rank, ': wrong: ', text
  end subroutine

  subroutine check_data()
    call check(all(in == left), 'data of a receive')
  end subroutine

  subroutine check_status(s, source, tag, count)
    integer, intent(in) :: s(MPI_STATUS_SIZE), source, tag, count
    integer :: found
    call MPI_Get_count(s, MPI_INTEGER, found, ierror)
    call check(s(MPI_SOURCE) == source .and. s(MPI_TAG) == tag .and. found == count, 'status')
  end subroutine
end program
