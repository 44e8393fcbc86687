C     Receives wait in a full queue: the header mpif.h.
C
C         mpiexec -n 2..4 f77
      program f77
      implicit none
      include 'mpif.h'
      integer fills, msgs
      parameter (fills = 200, msgs = 10)
      integer rank, ranks, left, right, ierr, bad, total, i, n, done
      integer filler(fills), freq(fills), fval(fills)
      integer in(msgs), out(msgs), req(msgs), sreq(msgs), idx(msgs)
      integer st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, msgs)
      integer pers
      logical flag
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      left = mod(rank + ranks - 1, ranks)
      right = mod(rank + 1, ranks)
      bad = 0
      do 10 i = 1, fills
         call MPI_IRECV(filler(i), 1, MPI_INTEGER, left, 1000 + i,
     &                  MPI_COMM_WORLD, freq(i), ierr)
 10   continue
C     MPI_WAITALL with and without statuses, and MPI_TESTSOME.
      do 60 n = 1, 3
         do 20 i = 1, msgs
            in(i) = -1
            call MPI_IRECV(in(i), 1, MPI_INTEGER, MPI_ANY_SOURCE, i,
     &                     MPI_COMM_WORLD, req(i), ierr)
 20      continue
         do 30 i = msgs, 1, -1
            out(i) = rank * 100 + i
            call MPI_ISEND(out(i), 1, MPI_INTEGER, right, i,
     &                     MPI_COMM_WORLD, sreq(i), ierr)
 30      continue
         if (n .eq. 1) then
            call MPI_WAITALL(msgs, req, sts, ierr)
            do 40 i = 1, msgs
               if (sts(MPI_SOURCE, i) .ne. left) bad = bad + 1
               if (sts(MPI_TAG, i) .ne. i) bad = bad + 1
 40         continue
         else if (n .eq. 2) then
            call MPI_WAITALL(msgs, req, MPI_STATUSES_IGNORE, ierr)
         else
            done = 0
 45         call MPI_TESTSOME(msgs, req, total, idx, sts, ierr)
            done = done + total
            if (done .lt. msgs) goto 45
         end if
         do 50 i = 1, msgs
            if (in(i) .ne. left * 100 + i) bad = bad + 1
 50      continue
         call MPI_WAITALL(msgs, sreq, MPI_STATUSES_IGNORE, ierr)
 60   continue
C     MPI_PROBE, MPI_RECV, MPI_SENDRECV.
      call MPI_ISEND(rank, 1, MPI_INTEGER, right, 20, MPI_COMM_WORLD,
     &               sreq(1), ierr)
      call MPI_PROBE(left, 20, MPI_COMM_WORLD, st, ierr)
      call MPI_GET_COUNT(st, MPI_INTEGER, n, ierr)
      if (st(MPI_SOURCE) .ne. left .or. n .ne. 1) bad = bad + 1
      call MPI_RECV(in, 1, MPI_INTEGER, left, 20, MPI_COMM_WORLD,
     &              MPI_STATUS_IGNORE, ierr)
      if (in(1) .ne. left) bad = bad + 1
      call MPI_WAIT(sreq(1), MPI_STATUS_IGNORE, ierr)
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, right, 21, in, 1,
     &     MPI_INTEGER, left, 21, MPI_COMM_WORLD, st, ierr)
      if (in(1) .ne. left .or. st(MPI_TAG) .ne. 21) bad = bad + 1
C     A persistent receive.
      call MPI_RECV_INIT(in, 1, MPI_INTEGER, left, 22, MPI_COMM_WORLD,
     &                   pers, ierr)
      do 70 i = 1, 5
         call MPI_START(pers, ierr)
         out(1) = rank + i
         call MPI_SEND(out, 1, MPI_INTEGER, right, 22, MPI_COMM_WORLD,
     &                 ierr)
         call MPI_WAIT(pers, st, ierr)
         if (in(1) .ne. left + i) bad = bad + 1
 70   continue
      call MPI_REQUEST_FREE(pers, ierr)
C     MPI_IN_PLACE and a cancelled receive.
      n = 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, n, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      if (n .ne. ranks) bad = bad + 1
      call MPI_IRECV(in, 1, MPI_INTEGER, left, 23, MPI_COMM_WORLD,
     &               req(1), ierr)
      call MPI_CANCEL(req(1), ierr)
      call MPI_WAIT(req(1), st, ierr)
      call MPI_TEST_CANCELLED(st, flag, ierr)
      if (.not. flag) bad = bad + 1
      do 80 i = 1, fills
         fval(i) = i
         call MPI_SEND(fval(i), 1, MPI_INTEGER, right, 1000 + i,
     &                 MPI_COMM_WORLD, ierr)
 80   continue
      call MPI_WAITALL(fills, freq, MPI_STATUSES_IGNORE, ierr)
      do 90 i = 1, fills
         if (filler(i) .ne. i) bad = bad + 1
 90   continue
      call MPI_ALLREDUCE(bad, total, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. total .eq. 0) print '(a)', 'f77: right'
      if (bad .ne. 0) print '(a, i0, a, i0, a)', 'f77: rank ', rank,
     &     ': ', bad, ' checks are wrong'
      call MPI_FINALIZE(ierr)
      if (total .ne. 0) stop 1
      end
