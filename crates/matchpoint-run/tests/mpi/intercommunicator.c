// Receives that wait on an intercommunicator, and on the communicator merged from it.
//
//     mpiexec -n 2..4 intercommunicator [--fill N]
//
// A program of its own: under Open MPI overflow matching stays out of programs that import MPI_Intercomm_create.
#include "checks.h"

// Receives wait on an intercommunicator and on the communicator merged from it.
static void check_intercommunicator(void) {
    enum { COUNT = 20 };
    MPI_Comm half, between, merged;
    int side = rank % 2, remote, own, values[COUNT], others[COUNT];
    MPI_Request requests[COUNT], merged_requests[COUNT];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 6, &between);
    MPI_Comm_remote_size(between, &remote), MPI_Comm_rank(between, &own);
    MPI_Intercomm_merge(between, side, &merged);
    int merged_rank, merged_size;
    MPI_Comm_rank(merged, &merged_rank), MPI_Comm_size(merged, &merged_size);
    filler_t merged_filler = fill_queue(merged);
    // Rank 0 of each side exchanges messages with all ranks of the other side.
    for (int at = 0; at < COUNT; at++) {
        int from = own == 0 ? at % remote : 0;
        values[at] = others[at] = -1;
        MPI_Irecv(&values[at], 1, MPI_INT, at % 3 ? from : MPI_ANY_SOURCE, at, between, &requests[at]);
        MPI_Irecv(&others[at], 1, MPI_INT, (merged_rank + 1) % merged_size, at, merged, &merged_requests[at]);
    }
    for (int at = COUNT - 1; at >= 0; at--) {
        for (int to = 0; to < remote; to++) {
            // Rank 0 of the other side receives tag `at` from one rank. Other ranks receive from rank 0.
            int local;
            MPI_Comm_size(half, &local);
            if (to == 0 ? own == at % local : own == 0) MPI_Send(&at, 1, MPI_INT, to, at, between);
        }
        MPI_Send(&at, 1, MPI_INT, (merged_rank + merged_size - 1) % merged_size, at, merged);
    }
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE), MPI_Waitall(COUNT, merged_requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < COUNT; at++) {
        CHECK(values[at] == at && others[at] == at, "receive %d has messages %d and %d", at, values[at], others[at]);
    }
    empty_queue(merged, &merged_filler);
    empty_queue(MPI_COMM_WORLD, &filler);
    MPI_Comm_free(&merged), MPI_Comm_free(&between), MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "intercommunicator");
    step = "intercommunicator", check_intercommunicator();
    return finish();
}
