// Partitioned communication (MPI-4.1 chapter 4) while other receives wait.
//
//     mpiexec -n 1..4 partitioned [--fill N]
//
// A program of its own: under Open MPI overflow matching stays out of programs that import MPI_Precv_init.
#include "checks.h"

#if HAS_MPI4_CALLS
static void check_partitioned(void) {
    enum { PARTITIONS = 8, EACH = 100 };
    static int partitions_out[PARTITIONS * EACH], partitions_in[PARTITIONS * EACH];
    MPI_Request send, receive;
    MPI_Precv_init(partitions_in, PARTITIONS, EACH, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Psend_init(partitions_out, PARTITIONS, EACH, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    for (int round = 0; round < 5; round++) {
        filler_t filler = fill_queue(MPI_COMM_WORLD);
        fill_payload(partitions_out, PARTITIONS * EACH, rank, round);
        memset(partitions_in, 0, sizeof partitions_in);
        MPI_Start(&receive), MPI_Start(&send);
        for (int at = PARTITIONS - 1; at >= 0; at--) MPI_Pready(at, send);
        for (int has_arrived = 0; !has_arrived;) MPI_Parrived(receive, round % PARTITIONS, &has_arrived);
        MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_Wait(&receive, MPI_STATUS_IGNORE);
        CHECK(has_payload(partitions_in, PARTITIONS * EACH, left, round), "round %d has wrong data", round);
        empty_queue(MPI_COMM_WORLD, &filler);
    }
    MPI_Request_free(&send), MPI_Request_free(&receive);
}

// The partner sends the partition only after a long message that the engine must match.
static void check_progress_of_parrived(void) {
    enum { LONG = 1 << 20 };
    static char out[LONG], in[LONG];
    int partner = rank ^ 1, value = rank, got = -1, has_arrived = 0;
    MPI_Request send, receive, waiting;
    MPI_Precv_init(&got, 1, 1, MPI_INT, partner, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Psend_init(&value, 1, 1, MPI_INT, partner, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Start(&receive), MPI_Start(&send);
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Irecv(in, LONG, MPI_CHAR, partner, 8, MPI_COMM_WORLD, &waiting);
    while (rank % 2 == 0 && !has_arrived) MPI_Parrived(receive, 0, &has_arrived);
    MPI_Send(out, LONG, MPI_CHAR, partner, 8, MPI_COMM_WORLD);
    MPI_Pready(0, send);
    while (!has_arrived) MPI_Parrived(receive, 0, &has_arrived);
    MPI_Wait(&waiting, MPI_STATUS_IGNORE), MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK(got == partner, "the partition has %d", got);
    empty_queue(MPI_COMM_WORLD, &filler);
    MPI_Request_free(&send), MPI_Request_free(&receive);
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv, "partitioned");
#if HAS_MPI4_CALLS
    step = "partitioned", check_partitioned();
    if (ranks % 2 == 0) step = "progress of MPI_Parrived", check_progress_of_parrived();
#else
    report_skip("partitioned", "the library has no partitioned communication");
#endif
    return finish();
}
