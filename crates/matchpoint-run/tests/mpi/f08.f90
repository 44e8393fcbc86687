! Receives wait in a full queue: the Fortran module mpi_f08.
!
!     mpiexec -n 2..4 f08
program f08
  use mpi_f08
  implicit none
  integer, parameter :: fillers = 200, messages = 10
  integer :: rank, ranks, left, right, failures, total, at, found, done, round
  integer, asynchronous :: filler(fillers), fill_values(fillers), in(messages), out(messages), value
  integer :: indices(messages)
  type(MPI_Request) :: fill_requests(fillers), requests(messages), sends(messages), persistent
  type(MPI_Status) :: status, statuses(messages)
  type(MPI_Message) :: message
  character(MPI_MAX_LIBRARY_VERSION_STRING) :: version
  logical :: flag, has_c_indices

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  failures = 0
  ! MPICH 4.0 returns the indices of C, which begin at 0.
  call MPI_Get_library_version(version, found)
  has_c_indices = index(version, 'MPICH') > 0 .and. index(version(1:40), '4.0') > 0
  if (has_c_indices .and. rank == 0) print '(a)', 'f08: skipped index of MPI_Testsome: the library returns indices of C'
  do at = 1, fillers
    filler(at) = -1
    call MPI_Irecv(filler(at), 1, MPI_INTEGER, left, 1000 + at, MPI_COMM_WORLD, fill_requests(at))
  end do

  ! MPI_Wait, MPI_Waitall with and without statuses, and MPI_Testsome.
  do round = 1, 4
    do at = 1, messages
      in(at) = -1
      call MPI_Irecv(in(at), 1, MPI_INTEGER, MPI_ANY_SOURCE, at, MPI_COMM_WORLD, requests(at))
    end do
    do at = messages, 1, -1
      out(at) = rank * 100 + at
      call MPI_Isend(out(at), 1, MPI_INTEGER, right, at, MPI_COMM_WORLD, sends(at))
    end do
    select case (round)
    case (1)
      do at = 1, messages
        call MPI_Wait(requests(at), statuses(at))
        call check(requests(at) == MPI_REQUEST_NULL, 'request after MPI_Wait')
      end do
    case (2)
      call MPI_Waitall(messages, requests, statuses)
    case (3)
      call MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE)
    case (4)
      done = 0
      do while (done < messages)
        call MPI_Testsome(messages, requests, found, indices, statuses)
        do at = 1, found
          call check(has_c_indices .or. statuses(at)%MPI_TAG == indices(at), 'index of MPI_Testsome')
        end do
        done = done + found
      end do
    end select
    do at = 1, messages
      call check(in(at) == left * 100 + at, 'data of a receive')
      if (round > 2) cycle
      call check(statuses(at)%MPI_SOURCE == left .and. statuses(at)%MPI_TAG == at, 'status of a receive')
    end do
    call MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE)
  end do

  ! MPI_Probe, MPI_Mprobe and MPI_Sendrecv.
  out(1) = rank
  call MPI_Isend(out(1), 1, MPI_INTEGER, right, 20, MPI_COMM_WORLD, sends(1))
  call MPI_Isend(out(1), 1, MPI_INTEGER, right, 21, MPI_COMM_WORLD, sends(2))
  call MPI_Probe(left, 20, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, found)
  call check(status%MPI_SOURCE == left .and. found == 1, 'status of MPI_Probe')
  call MPI_Mprobe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, message, status)
  call MPI_Recv(value, 1, MPI_INTEGER, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(value == left, 'data of MPI_Recv')
  value = -1
  call MPI_Mrecv(value, 1, MPI_INTEGER, message, status)
  call check(value == left .and. status%MPI_TAG == 21, 'data of MPI_Mrecv')
  call MPI_Waitall(2, sends, MPI_STATUSES_IGNORE)
  call MPI_Sendrecv(out(1), 1, MPI_INTEGER, right, 22, in(1), 1, MPI_INTEGER, left, 22, MPI_COMM_WORLD, status)
  call check(in(1) == left .and. status%MPI_TAG == 22, 'data of MPI_Sendrecv')

  ! A persistent receive.
  call MPI_Recv_init(in(1), 1, MPI_INTEGER, left, 23, MPI_COMM_WORLD, persistent)
  do at = 1, 5
    out(1) = rank + at
    call MPI_Start(persistent)
    call MPI_Send(out(1), 1, MPI_INTEGER, right, 23, MPI_COMM_WORLD)
    call MPI_Wait(persistent, status)
    call check(in(1) == left + at, 'data of a persistent receive')
  end do
  call MPI_Request_free(persistent)

  ! MPI_IN_PLACE and a cancelled receive.
  value = 1
  call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(value == ranks, 'sum of MPI_IN_PLACE')
  call MPI_Irecv(value, 1, MPI_INTEGER, left, 24, MPI_COMM_WORLD, requests(1))
  call MPI_Cancel(requests(1))
  call MPI_Wait(requests(1), status)
  call MPI_Test_cancelled(status, flag)
  call check(flag, 'cancelled receive')

  do at = 1, fillers
    fill_values(at) = at
    call MPI_Send(fill_values(at), 1, MPI_INTEGER, right, 1000 + at, MPI_COMM_WORLD)
  end do
  call MPI_Waitall(fillers, fill_requests, MPI_STATUSES_IGNORE)
  do at = 1, fillers
    call check(filler(at) == at, 'filling receive')
  end do
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == 0) print '(a)', 'f08: right'
  call MPI_Finalize()
  if (total /= 0) stop 1

contains

  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(*), intent(in) :: text
    if (condition) return
    failures = failures + 1
    print '(a, i0, 2a)', 'f08: rank ', rank, ': wrong: ', text
  end subroutine
end program
