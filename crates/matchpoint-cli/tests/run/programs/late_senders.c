/* Rank 0 waits in MPI_Waitall for messages that rank 1 sends, youngest receive first, after half a second. */
#include <mpi.h>
#include <unistd.h>

enum { MESSAGES = 500 };

int main(int argc, char **argv)
{
    static int in[MESSAGES];
    MPI_Request requests[MESSAGES];
    int rank, go = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES && rank == 0; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    if (rank == 0) {
        MPI_Send(&go, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(500000);
        for (int i = MESSAGES - 1; i >= 0; i--)
            MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
