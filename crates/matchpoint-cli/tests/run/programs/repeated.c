/* In each round, rank 0 waits in MPI_Waitall for messages that rank 1 sends, youngest receive first. Two rounds are
 * long, two are short. */
#include <mpi.h>

enum { LONG = 10000, SHORT = 40 };

int main(int argc, char **argv)
{
    static int in[LONG];
    static MPI_Request requests[LONG];
    const int rounds[] = {LONG, LONG, SHORT, SHORT};
    int rank, go = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 4; round++) {
        int messages = rounds[round];
        for (int i = 0; i < messages && rank == 0; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        if (rank == 0) {
            MPI_Send(&go, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = messages - 1; i >= 0; i--)
                MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
