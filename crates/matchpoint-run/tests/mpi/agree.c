// Fault-tolerant agreement while a synchronous sender waits for one of many receives.
//
//     mpiexec -n 2 agree [--fill N]
//
// A program of its own: overflow matching stays out of programs that import MPIX functions of communicators.
#include "checks.h"
// MPIX_Comm_agree crashes in Intel MPI 2021.18, and ends a program with an assertion in MPICH.
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
#include <mpi-ext.h>
#define HAS_AGREEMENT 1
#else
#define HAS_AGREEMENT 0
#endif

#if HAS_AGREEMENT
static void check_agreement(void) {
    int flag = 1, out = 7, in = 0;
    MPI_Request request;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    if (rank == 0) MPI_Irecv(&in, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    if (rank == 1) MPI_Ssend(&out, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(flag == 1 && (rank != 0 || in == out), "agreed on %d, received %d", flag, in);
    empty_queue(MPI_COMM_WORLD, &filler);
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv, "agree");
#if HAS_AGREEMENT
    step = "agreement", check_agreement();
#else
    report_skip("agree", "the library has no working MPIX_Comm_agree");
#endif
    return finish();
}
