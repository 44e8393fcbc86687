/* One-sided communication without counts, and its synchronization (MPI-4.1 §12). The including file defines
 * PLAIN(NAME, PARAMETERS, ARGUMENTS). */
PLAIN(Fetch_and_op, (const void *from, void *to, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op op, MPI_Win win),
      (from, to, type, rank, at, op, win))
PLAIN(Compare_and_swap,
      (const void *from, const void *compare, void *to, MPI_Datatype type, int rank, MPI_Aint at, MPI_Win win),
      (from, compare, to, type, rank, at, win))
PLAIN(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
PLAIN(Win_free, (MPI_Win * win), (win))
PLAIN(Win_fence, (int assert, MPI_Win win), (assert, win))
PLAIN(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
PLAIN(Win_complete, (MPI_Win win), (win))
PLAIN(Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
PLAIN(Win_wait, (MPI_Win win), (win))
PLAIN(Win_test, (MPI_Win win, int *flag), (win, flag))
PLAIN(Win_lock, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win))
PLAIN(Win_lock_all, (int assert, MPI_Win win), (assert, win))
PLAIN(Win_unlock, (int rank, MPI_Win win), (rank, win))
PLAIN(Win_unlock_all, (MPI_Win win), (win))
PLAIN(Win_flush, (int rank, MPI_Win win), (rank, win))
PLAIN(Win_flush_all, (MPI_Win win), (win))
PLAIN(Win_flush_local, (int rank, MPI_Win win), (rank, win))
PLAIN(Win_flush_local_all, (MPI_Win win), (win))
PLAIN(Win_sync, (MPI_Win win), (win))
