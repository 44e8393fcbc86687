// The functions with large counts, `MPI_..._c`, while receives wait in the queue.
//
//     mpiexec -n 1..4 large [--fill N]
#include "checks.h"

#if MPI_VERSION >= 4

enum { INTS = 70000 };
static int *out, *in;

static void check_received(const MPI_Status *status, int tag) {
    MPI_Count ints = -1;
    MPI_Get_count_c(status, MPI_INT, &ints);
    CHECK(status->MPI_SOURCE == left && status->MPI_TAG == tag && ints == INTS, "source %d, tag %d, %lld integers",
          status->MPI_SOURCE, status->MPI_TAG, (long long)ints);
    CHECK(has_payload(in, INTS, left, tag), "tag %d has wrong data", tag);
    memset(in, 0, INTS * sizeof(int));
}

static void check_nonblocking(void) {
    MPI_Request request, send;
    MPI_Status status;
    fill_payload(out, INTS, rank, 1);
    MPI_Irecv_c(in, INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Isend_c(out, INTS, MPI_INT, right, 1, MPI_COMM_WORLD, &send);
    MPI_Wait(&request, &status), MPI_Wait(&send, MPI_STATUS_IGNORE);
    check_received(&status, 1);
    MPI_Irecv_c(in, INTS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Send_c(out, INTS, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check_received(&status, 1);
    MPI_Irecv_c(in, INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Ssend_c(out, INTS, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check_received(&status, 1);
    MPI_Irecv_c(in, INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rsend_c(out, INTS, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check_received(&status, 1);
}

static void check_blocking(void) {
    MPI_Request send;
    MPI_Status status;
    fill_payload(out, INTS, rank, 2);
    MPI_Issend_c(out, INTS, MPI_INT, right, 2, MPI_COMM_WORLD, &send);
    MPI_Recv_c(in, INTS, MPI_INT, left, 2, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    check_received(&status, 2);
    MPI_Sendrecv_c(out, INTS, MPI_INT, right, 2, in, INTS, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    check_received(&status, 2);
    fill_payload(in, INTS, rank, 2);
    MPI_Sendrecv_replace_c(in, INTS, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &status);
    check_received(&status, 2);
}

// A count that is larger than an int, of an empty datatype.
static void check_replace(void) {
    MPI_Count count = (MPI_Count)INT32_MAX + 5;
    MPI_Datatype empty;
    MPI_Request request;
    MPI_Status status;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Sendrecv_replace_c(in, count, empty, right, 7, left, 7, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, left, 7, 0);
    MPI_Isendrecv_replace_c(in, count, empty, right, 7, left, 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, left, 7, 0);
    MPI_Type_free(&empty);
}

static void check_persistent(void) {
    MPI_Request receive, send;
    MPI_Status status;
    MPI_Recv_init_c(in, INTS, MPI_INT, left, 3, MPI_COMM_WORLD, &receive);
    MPI_Send_init_c(out, INTS, MPI_INT, right, 3, MPI_COMM_WORLD, &send);
    fill_payload(out, INTS, rank, 3);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&receive), MPI_Start(&send);
        MPI_Wait(&receive, &status), MPI_Wait(&send, MPI_STATUS_IGNORE);
        check_received(&status, 3);
    }
    MPI_Request_free(&receive), MPI_Request_free(&send);
}

static void check_matched(void) {
    MPI_Request send, receive;
    MPI_Message message;
    MPI_Status status;
    fill_payload(out, INTS, rank, 4);
    MPI_Isend_c(out, INTS, MPI_INT, right, 4, MPI_COMM_WORLD, &send);
    MPI_Mprobe(left, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv_c(in, INTS, MPI_INT, &message, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    check_received(&status, 4);
    MPI_Isend_c(out, INTS, MPI_INT, right, 4, MPI_COMM_WORLD, &send);
    MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Imrecv_c(in, INTS, MPI_INT, &message, &receive);
    MPI_Wait(&receive, &status), MPI_Wait(&send, MPI_STATUS_IGNORE);
    check_received(&status, 4);
}

static void check_isendrecv(void) {
    MPI_Request request;
    fill_payload(out, INTS, rank, 5);
    MPI_Isendrecv_c(out, INTS, MPI_INT, right, 5, in, INTS, MPI_INT, left, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(has_payload(in, INTS, left, 5), "MPI_Isendrecv_c has wrong data");
    fill_payload(in, INTS, rank, 5);
    MPI_Isendrecv_replace_c(in, INTS, MPI_INT, right, 5, left, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(has_payload(in, INTS, left, 5), "MPI_Isendrecv_replace_c has wrong data");
    memset(in, 0, INTS * sizeof(int));
}

static void check_proc_null(void) {
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv_c(in, INTS, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    if (HAS_PROC_NULL_STATUS)
        CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    else
        report_skip("status of MPI_Irecv_c from MPI_PROC_NULL", "the library does not write it");
    MPI_Send_c(out, INTS, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
    MPI_Recv_c(in, INTS, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static void run_checks(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    out = allocate(INTS * sizeof(int)), in = allocate(INTS * sizeof(int));
    step = "nonblocking", check_nonblocking();
    step = "blocking", check_blocking();
    step = "large counts replaced", check_replace();
    step = "persistent", check_persistent();
    step = "matched", check_matched();
    step = "MPI_Isendrecv_c", check_isendrecv();
    step = "MPI_PROC_NULL", check_proc_null();
    empty_queue(MPI_COMM_WORLD, &filler);
    free(out), free(in);
}

#else

static void run_checks(void) { report_skip("all checks", "the library has no functions with large counts"); }

#endif

int main(int argc, char **argv) {
    begin(&argc, &argv, "large");
    run_checks();
    return finish();
}
