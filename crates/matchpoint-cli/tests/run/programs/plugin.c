/* A library linked with MPI. The program `late` loads the library. */
#include "exchange.h"

int exchange(int *argc, char ***argv)
{
    struct functions functions = {MPI_Init, MPI_Comm_rank, MPI_Comm_size, MPI_Irecv,
                                  MPI_Send, MPI_Waitall,   MPI_Barrier,   MPI_Finalize};
    return exchange_by(&functions, MPI_COMM_WORLD, MPI_INT, argc, argv);
}
