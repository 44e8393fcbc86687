/* A program without MPI_Init. Sends ten messages around a ring, on a communicator of a process set. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int rank, ranks, in = -1;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "matchpoint.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int round = 0; round < 10; round++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, round, &in, 1, MPI_INT, MPI_ANY_SOURCE, round, comm,
                     MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return in == (rank + ranks - 1) % ranks ? 0 : 1;
}
