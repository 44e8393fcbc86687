/* One-sided communication with counts (MPI-4.1 §12.2, 12.3). The including file defines PLAIN, COUNT and SIZED, as in
 * collectives.h. */
#if !defined(LARGE)
#define UNIT int
#else
#undef UNIT
#define UNIT MPI_Aint
#endif

#define TO_WINDOW const void *from, COUNT count, MPI_Datatype type, int rank, MPI_Aint at, COUNT count_there, MPI_Datatype type_there
#define TO_WINDOW_GIVEN from, count, type, rank, at, count_there, type_there
#define FROM_WINDOW void *to, COUNT count, MPI_Datatype type, int rank, MPI_Aint at, COUNT count_there, MPI_Datatype type_there
#define FROM_WINDOW_GIVEN to, count, type, rank, at, count_there, type_there
#define BOTH_WAYS                                                                                        \
    const void *from, COUNT count, MPI_Datatype type, void *to, COUNT to_count, MPI_Datatype to_type, int rank, MPI_Aint at, \
        COUNT count_there, MPI_Datatype type_there
#define BOTH_WAYS_GIVEN from, count, type, to, to_count, to_type, rank, at, count_there, type_there

PLAIN(SIZED(Put), (TO_WINDOW, MPI_Win win), (TO_WINDOW_GIVEN, win))
PLAIN(SIZED(Get), (FROM_WINDOW, MPI_Win win), (FROM_WINDOW_GIVEN, win))
PLAIN(SIZED(Accumulate), (TO_WINDOW, MPI_Op op, MPI_Win win), (TO_WINDOW_GIVEN, op, win))
PLAIN(SIZED(Get_accumulate), (BOTH_WAYS, MPI_Op op, MPI_Win win), (BOTH_WAYS_GIVEN, op, win))
PLAIN(SIZED(Rput), (TO_WINDOW, MPI_Win win, MPI_Request *request), (TO_WINDOW_GIVEN, win, request))
PLAIN(SIZED(Rget), (FROM_WINDOW, MPI_Win win, MPI_Request *request), (FROM_WINDOW_GIVEN, win, request))
PLAIN(SIZED(Raccumulate), (TO_WINDOW, MPI_Op op, MPI_Win win, MPI_Request *request), (TO_WINDOW_GIVEN, op, win, request))
PLAIN(SIZED(Rget_accumulate), (BOTH_WAYS, MPI_Op op, MPI_Win win, MPI_Request *request), (BOTH_WAYS_GIVEN, op, win, request))
PLAIN(SIZED(Win_create), (void *base, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
      (base, size, unit, info, comm, win))
PLAIN(SIZED(Win_allocate), (MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
      (size, unit, info, comm, base, win))
PLAIN(SIZED(Win_allocate_shared), (MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
      (size, unit, info, comm, base, win))

#undef TO_WINDOW
#undef TO_WINDOW_GIVEN
#undef FROM_WINDOW
#undef FROM_WINDOW_GIVEN
#undef BOTH_WAYS
#undef BOTH_WAYS_GIVEN
