/* Rank 0 waits with two receives without a message, and with two messages without a receive, sent by rank 1. With
 * overflow matching, the engine also has the receive in which rank 0 waits. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, in[3], any, out = 1, number;
    MPI_Comm halo, empty;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    MPI_Comm_dup(MPI_COMM_WORLD, &empty);
    MPI_Comm_set_name(halo, "halo exchange");
    MPI_Comm_set_name(empty, "empty");
    if (rank == 0) {
        MPI_Irecv(in, 3, MPI_INT, 1, 5, halo, &requests[0]);
        MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, empty, &requests[1]);
        /* Sent after the messages with tags 8 and 9. */
        MPI_Recv(&number, 1, MPI_INT, 1, 10, halo, MPI_STATUS_IGNORE);
        fprintf(stderr, "queues: rank 0 waits\n");
        MPI_Recv(&number, 1, MPI_INT, 1, 11, halo, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        for (int tag = 8; tag <= 10; tag++)
            MPI_Send(&out, 1, MPI_INT, 0, tag, halo);
        MPI_Recv(&number, 1, MPI_INT, 0, 12, halo, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
