/* Every rank posts many receives from its left neighbour. The messages arrive in reverse order of the receives. */
#include <mpi.h>
#include <stdio.h>

struct functions {
    __typeof__(&MPI_Init) Init;
    __typeof__(&MPI_Comm_rank) Comm_rank;
    __typeof__(&MPI_Comm_size) Comm_size;
    __typeof__(&MPI_Irecv) Irecv;
    __typeof__(&MPI_Send) Send;
    __typeof__(&MPI_Waitall) Waitall;
    __typeof__(&MPI_Barrier) Barrier;
    __typeof__(&MPI_Finalize) Finalize;
};

static int exchange_by(const struct functions *mpi, MPI_Comm world, MPI_Datatype type, int *argc, char ***argv)
{
    enum { COUNT = 200 };
    int rank, ranks, in[COUNT], wrong = 0;
    MPI_Request requests[COUNT];
    mpi->Init(argc, argv);
    mpi->Comm_rank(world, &rank);
    mpi->Comm_size(world, &ranks);
    for (int tag = 0; tag < COUNT; tag++)
        mpi->Irecv(&in[tag], 1, type, (rank + ranks - 1) % ranks, tag, world, &requests[tag]);
    mpi->Barrier(world);
    for (int tag = COUNT - 1; tag >= 0; tag--)
        mpi->Send(&tag, 1, type, (rank + 1) % ranks, tag, world);
    mpi->Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    for (int tag = 0; tag < COUNT; tag++)
        wrong += in[tag] != tag;
    mpi->Finalize();
    printf("exchange: rank %d: %s\n", rank, wrong ? "wrong" : "right");
    return wrong != 0;
}
