/* Rank 0 posts many long receives before each barrier. Rank 1 sends after the barrier, youngest receive first. */
#include <mpi.h>
#include <stdlib.h>

enum { RECEIVES = 500, ROUNDS = 40, BYTES = 4096 };

int main(int argc, char **argv)
{
    char *in = malloc((size_t)RECEIVES * BYTES), out[BYTES] = {0};
    MPI_Request requests[RECEIVES];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RECEIVES && rank == 0; i++)
            MPI_Irecv(in + (size_t)i * BYTES, BYTES, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = RECEIVES - 1; i >= 0 && rank == 1; i--)
            MPI_Send(out, BYTES, MPI_CHAR, 0, i, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Waitall(RECEIVES, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    free(in);
    return 0;
}
