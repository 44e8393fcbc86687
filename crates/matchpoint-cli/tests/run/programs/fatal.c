/* A too short receive under MPI_ERRORS_ARE_FATAL. The argument is the MPI function that reports the error. The sender
 * does not end. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES 2
#define SENT 100
#define ROOM 2
#define LATE_US 100000
#define TAG 1

int main(int argc, char **argv)
{
    int rank, ints[MESSAGES][SENT] = {{0}};
    MPI_Request requests[MESSAGES];
    const char *call = argc > 1 ? argv[1] : "MPI_Recv";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        usleep(LATE_US);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Send(ints[i], SENT, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        pause();
    } else if (strcmp(call, "MPI_Recv") == 0) {
        MPI_Recv(ints[0], ROOM, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(ints[i], ROOM, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        if (strcmp(call, "MPI_Wait") == 0)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        else
            MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
