/* Each rank repeats one MPI call, or waits in MPI_Probe. No rank sends the message. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    int in, flag, index, count;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    const char *call = argc > 1 ? argv[1] : "MPI_Probe";
    if (strcmp(call, "MPI_Probe") == 0)
        MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    for (;;) {
        if (strcmp(call, "MPI_Iprobe") == 0)
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        else if (strcmp(call, "MPI_Test") == 0)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        else if (strcmp(call, "MPI_Testall") == 0)
            MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
        else if (strcmp(call, "MPI_Testany") == 0)
            MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
        else if (strcmp(call, "MPI_Testsome") == 0)
            MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
        else
            MPI_Barrier(MPI_COMM_SELF);
    }
}
