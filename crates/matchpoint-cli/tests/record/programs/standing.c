/* Keeps known numbers of posted receives and unexpected messages until a file appears.
 *
 * Rank r posts 3 + 2 r receives from the next rank d. Rank 1 posts four more from any source. Each rank sends 5 + d
 * messages without a posted receive to rank d. On a second communicator with reversed ranks, each rank posts one more
 * receive, and sends one more message. Usage: standing FILE */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { WANTED = 7, UNWANTED = 8, NEVER = 9, ANY = 4, MOST = 64 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, turned, value = 0, flag;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int behind = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm other;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    MPI_Comm_rank(other, &turned);

    MPI_Request requests[2 * MOST];
    int values[2 * MOST], posted = 0;
    for (int i = 0; i < 3 + 2 * rank; i++, posted++)
        MPI_Irecv(&values[posted], 1, MPI_INT, behind, WANTED, MPI_COMM_WORLD, &requests[posted]);
    for (int i = 0; rank == 1 && i < ANY; i++, posted++)
        MPI_Irecv(&values[posted], 1, MPI_INT, MPI_ANY_SOURCE, WANTED + 100, MPI_COMM_WORLD, &requests[posted]);
    MPI_Irecv(&values[posted], 1, MPI_INT, (turned + 1) % size, WANTED, other, &requests[posted]);
    posted++;
    for (int i = 0; i < 5 + behind; i++)
        MPI_Send(&value, 1, MPI_INT, behind, UNWANTED, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, (turned + 1) % size, UNWANTED, other);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("standing\n");
        fflush(stdout);
    }

    while (access(argv[1], F_OK) != 0) {
        MPI_Iprobe(MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(10000);
    }

    for (int i = 0; i < 3 + 2 * before; i++)
        MPI_Send(&value, 1, MPI_INT, before, WANTED, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && size > 1 && i < ANY; i++)
        MPI_Send(&value, 1, MPI_INT, 1, WANTED + 100, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, (turned + size - 1) % size, WANTED, other);
    for (int i = 0; i < 5 + rank; i++)
        MPI_Recv(&value, 1, MPI_INT, before, UNWANTED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, (turned + size - 1) % size, UNWANTED, other, MPI_STATUS_IGNORE);
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
