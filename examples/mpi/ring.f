C     A sum around a ring, in FORTRAN 77 (include 'mpif.h'), as in old
C     codes: rank 0 sends a number to rank 1. Each rank adds its number
C     and sends the sum on, until it is back.
C
C     Matching: one blocking receive at a time, from any source with any
C     tag, as in codes with one message in flight; the status has the
C     source and tag. In the last round, receives have source and tag,
C     and rank 0 posts its receive before its send.
C
C     The sum must be that of all ranks. ring [--count PREFIX]
      PROGRAM RING
      INCLUDE 'mpif.h'
      INTEGER ROUNDS
      PARAMETER (ROUNDS = 20)
      INTEGER IERR, RANK, RANKS, TO, FROM, ROUND, VALUE, WRONG, ALL
      INTEGER STATUS(MPI_STATUS_SIZE), REQUEST
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, RANKS, IERR)
      TO = MOD(RANK + 1, RANKS)
      FROM = MOD(RANK + RANKS - 1, RANKS)
      WRONG = 0
      DO 10 ROUND = 1, ROUNDS
        VALUE = ROUND
        IF (RANK .EQ. 0) THEN
          IF (ROUND .LT. ROUNDS .AND. RANKS .GT. 1) THEN
            CALL MPI_SEND(VALUE, 1, MPI_INTEGER, TO, ROUND,
     &                    MPI_COMM_WORLD, IERR)
            CALL MPI_RECV(VALUE, 1, MPI_INTEGER, MPI_ANY_SOURCE,
     &                    MPI_ANY_TAG, MPI_COMM_WORLD, STATUS, IERR)
          ELSE
            CALL MPI_IRECV(ALL, 1, MPI_INTEGER, FROM, ROUND,
     &                     MPI_COMM_WORLD, REQUEST, IERR)
            CALL MPI_SEND(VALUE, 1, MPI_INTEGER, TO, ROUND,
     &                    MPI_COMM_WORLD, IERR)
            CALL MPI_WAIT(REQUEST, STATUS, IERR)
            VALUE = ALL
          END IF
          IF (VALUE .NE. ROUND + RANKS*(RANKS - 1)/2) WRONG = WRONG + 1
        ELSE
          IF (ROUND .LT. ROUNDS) THEN
            CALL MPI_RECV(VALUE, 1, MPI_INTEGER, MPI_ANY_SOURCE,
     &                    MPI_ANY_TAG, MPI_COMM_WORLD, STATUS, IERR)
          ELSE
            CALL MPI_RECV(VALUE, 1, MPI_INTEGER, FROM, ROUND,
     &                    MPI_COMM_WORLD, STATUS, IERR)
          END IF
          VALUE = VALUE + RANK
          CALL MPI_SEND(VALUE, 1, MPI_INTEGER, TO, ROUND,
     &                  MPI_COMM_WORLD, IERR)
        END IF
        IF (STATUS(MPI_SOURCE) .NE. FROM) WRONG = WRONG + 1
        IF (STATUS(MPI_TAG) .NE. ROUND) WRONG = WRONG + 1
   10 CONTINUE
      CALL MPI_ALLREDUCE(WRONG, ALL, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, IERR)
      IF (RANK .EQ. 0) THEN
        IF (ALL .EQ. 0) WRITE (*, 20) RANKS, ROUNDS, 'right'
        IF (ALL .NE. 0) WRITE (*, 20) RANKS, ROUNDS, 'WRONG'
      END IF
   20 FORMAT ('ring: ', I0, ' ranks, ', I0, ' rounds: ', A)
      CALL TELL(RANK, RANKS, ROUNDS)
      CALL MPI_FINALIZE(IERR)
      IF (ALL .NE. 0) STOP 1
      END

C     One message and one receive per round. The last receive is exact,
C     and all are if there is one rank.
      SUBROUTINE TELL(RANK, RANKS, ROUNDS)
      INTEGER RANK, RANKS, ROUNDS, NAMED, POSTED
      CHARACTER*1000 OPTION, PREFIX, PATH
      CALL GET_COMMAND_ARGUMENT(1, OPTION)
      CALL GET_COMMAND_ARGUMENT(2, PREFIX)
      IF (OPTION .NE. '--count' .OR. PREFIX .EQ. ' ') RETURN
      NAMED = 1
      IF (RANKS .EQ. 1) NAMED = ROUNDS
      POSTED = 0
      IF (RANK .EQ. 0) POSTED = NAMED
      WRITE (PATH, 30) TRIM(PREFIX), RANK
   30 FORMAT (A, '.', I0, '.json')
      OPEN (10, FILE=TRIM(PATH), STATUS='UNKNOWN')
      WRITE (10, 40) RANK, ROUNDS, ROUNDS, NAMED, ROUNDS - NAMED,
     &  4*ROUNDS, ROUNDS, ROUNDS - POSTED, POSTED, POSTED
   40 FORMAT ('{"rank":', I0, ',"sends":', I0, ',"receives":', I0,
     &  ',"wildcards":{"none":', I0,
     &  ',"any_source":0,"any_tag":0,"both":', I0,
     &  '},"matched_receives":0,"proc_null":0,"bytes_sent":', I0,
     &  ',"calls":{"MPI_Send":', I0, ',"MPI_Recv":', I0,
     &  ',"MPI_Irecv":', I0, ',"MPI_Wait":', I0, '}}')
      CLOSE (10)
      END
