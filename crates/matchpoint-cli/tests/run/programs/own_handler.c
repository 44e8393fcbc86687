/* A program that handles SIGUSR2: the handler ends the program with exit code 66. Otherwise the program polls. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void leave(int number)
{
    (void)number;
    _exit(66);
}

int main(int argc, char **argv)
{
    int found = 0;
    signal(SIGUSR2, leave);
    MPI_Init(&argc, &argv);
    while (!found)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
