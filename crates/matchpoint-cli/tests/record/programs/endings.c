/* Exchanges messages, and then ends by its first argument: kill, late (kill while the other ranks wait), abort, exit,
 * segfault, or never. fatal: ends after 0.4 s by an error of rank 1. early: ends at once by abort(); all ranks have a
 * trace file, because the recorder exchanges messages in MPI_Init.
 *
 * The second argument is the time in seconds. The default is longer than the second for which the recorder keeps calls
 * in memory. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, ranks, goes_on = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *ending = argc > 1 ? argv[1] : "";
    if (strcmp(ending, "early") == 0)
        abort();
    double seconds = argc > 2 ? atof(argv[2]) : strcmp(ending, "fatal") == 0 ? 0.4 : 1.3;
    if (strcmp(ending, "never") == 0)
        fprintf(stderr, "endings: rank %d begins\n", rank);
    double begin = MPI_Wtime();
    while (goes_on) {
        int out = rank, in;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        goes_on = MPI_Wtime() - begin < seconds || strcmp(ending, "never") == 0;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        usleep(1000);
    }
    if (strcmp(ending, "late") == 0 && rank == 1)
        sleep(4);
    if ((strcmp(ending, "kill") == 0 || strcmp(ending, "late") == 0) && rank == 1)
        kill(getpid(), SIGKILL);
    if (strcmp(ending, "segfault") == 0 && rank == 1) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(ending, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(ending, "fatal") == 0 && rank == 1)
        MPI_Send(&rank, 1, MPI_INT, ranks, 2, MPI_COMM_WORLD); /* This rank does not exist. */
    if (strcmp(ending, "exit") == 0)
        exit(3);
    MPI_Recv(&goes_on, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* No rank sends this message. */
    return 0;
}
