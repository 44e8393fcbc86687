/* One receive stays open. Each of many rounds has more sends than the limit of receives, and a few receives. */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 50, SENDS = 120, RECEIVES = 4 };

int main(int argc, char **argv)
{
    int rank, out = 1, control, in[SENDS];
    MPI_Request open, requests[SENDS + RECEIVES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Irecv(&control, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &open);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SENDS && rank == 0; i++)
            MPI_Isend(&out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < RECEIVES && rank == 0; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[SENDS + i]);
        for (int i = 0; i < SENDS && rank == 1; i++)
            MPI_Recv(&in[i], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < RECEIVES && rank == 1; i++)
            MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Waitall(SENDS + RECEIVES, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Send(&out, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD);
    MPI_Wait(&open, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
