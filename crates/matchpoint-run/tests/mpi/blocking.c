// Blocking point-to-point calls while receives wait in the queue.
//
//     mpiexec -n 1..4 blocking [--fill N]
#include "checks.h"

enum { LARGE_INTS = 1 << 18, LENGTHS = 5 };
static const int lengths[LENGTHS] = {0, 1, 1000, 20000, LARGE_INTS};

static int *out, *in;

static void start_send(int mode, int ints, int tag, MPI_Request *request) {
    fill_payload(out, ints, rank, tag);
    if (mode == 1)
        MPI_Issend(out, ints, MPI_INT, right, tag, MPI_COMM_WORLD, request);
    else
        MPI_Isend(out, ints, MPI_INT, right, tag, MPI_COMM_WORLD, request);
}

// MPI_Recv with all four combinations of wildcards, of messages that arrive before or after the call.
static void check_recv(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < LENGTHS; at++) {
        for (int wildcards = 0; wildcards < 8; wildcards++) {
            MPI_Request request;
            MPI_Status status;
            start_send(wildcards >> 2, lengths[at], at, &request);
            memset(in, 0, LARGE_INTS * sizeof(int));
            MPI_Recv(in, LARGE_INTS, MPI_INT, wildcards & 1 ? MPI_ANY_SOURCE : left, wildcards & 2 ? MPI_ANY_TAG : at,
                     MPI_COMM_WORLD, &status);
            CHECK_STATUS(&status, left, at, lengths[at] * (int)sizeof(int));
            CHECK(has_payload(in, lengths[at], left, at), "%d integers have wrong data", lengths[at]);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

enum { STANDARD, SYNCHRONOUS, BUFFERED, READY, MODES };

static void send_blocking(int mode, int ints, int to, int tag) {
    fill_payload(out, ints, rank, tag);
    switch (mode) {
    case STANDARD: MPI_Send(out, ints, MPI_INT, to, tag, MPI_COMM_WORLD); break;
    case SYNCHRONOUS: MPI_Ssend(out, ints, MPI_INT, to, tag, MPI_COMM_WORLD); break;
    case BUFFERED: MPI_Bsend(out, ints, MPI_INT, to, tag, MPI_COMM_WORLD); break;
    case READY: MPI_Rsend(out, ints, MPI_INT, to, tag, MPI_COMM_WORLD); break;
    }
}

// Each rank posts a receive and sends in a blocking call to a posted receive of its neighbour.
static void check_send_modes(void) {
    int room = LARGE_INTS * (int)sizeof(int) + MPI_BSEND_OVERHEAD, size;
    char *buffer = allocate((size_t)room);
    void *detached;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int mode = 0; mode < MODES; mode++) {
        for (int at = 0; at < LENGTHS; at++) {
            MPI_Request request;
            MPI_Status status;
            memset(in, 0, LARGE_INTS * sizeof(int));
            MPI_Irecv(in, lengths[at], MPI_INT, left, at, MPI_COMM_WORLD, &request);
            // A ready send needs the posted receive of its neighbour.
            if (mode == READY) MPI_Barrier(MPI_COMM_WORLD);
            if (mode == BUFFERED) MPI_Buffer_attach(buffer, room);
            send_blocking(mode, lengths[at], right, at);
            MPI_Wait(&request, &status);
            if (mode == BUFFERED) MPI_Buffer_detach(&detached, &size);
            CHECK_STATUS(&status, left, at, lengths[at] * (int)sizeof(int));
            CHECK(has_payload(in, lengths[at], left, at), "mode %d, %d integers: wrong data", mode, lengths[at]);
        }
    }
    empty_queue(MPI_COMM_WORLD, &filler);
    free(buffer);
}

static void check_sendrecv(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < LENGTHS; at++) {
        for (int wildcards = 0; wildcards < 4; wildcards++) {
            MPI_Status status;
            fill_payload(out, lengths[at], rank, at);
            memset(in, 0, LARGE_INTS * sizeof(int));
            MPI_Sendrecv(out, lengths[at], MPI_INT, right, at, in, LARGE_INTS, MPI_INT,
                         wildcards & 1 ? MPI_ANY_SOURCE : left, wildcards & 2 ? MPI_ANY_TAG : at, MPI_COMM_WORLD,
                         &status);
            CHECK_STATUS(&status, left, at, lengths[at] * (int)sizeof(int));
            CHECK(has_payload(in, lengths[at], left, at), "%d integers have wrong data", lengths[at]);
            MPI_Sendrecv(out, lengths[at], MPI_INT, right, at, in, LARGE_INTS, MPI_INT, left, at, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

static void check_sendrecv_replace(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < LENGTHS; at++) {
        MPI_Status status;
        fill_payload(in, lengths[at], rank, at);
        MPI_Sendrecv_replace(in, lengths[at], MPI_INT, right, at, at % 2 ? left : MPI_ANY_SOURCE, at, MPI_COMM_WORLD,
                             &status);
        CHECK_STATUS(&status, left, at, lengths[at] * (int)sizeof(int));
        CHECK(has_payload(in, lengths[at], left, at), "%d integers have wrong data", lengths[at]);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// A strided type: the elements between its blocks stay unchanged.
static void check_sendrecv_replace_derived(void) {
    enum { BLOCKS = 5000 };
    MPI_Datatype strided;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int round = 0; round < 2; round++) {
        int wrong = 0;
        MPI_Status status;
        fill_payload(in, 2 * BLOCKS, rank, 8);
        MPI_Sendrecv_replace(in, 1, strided, right, 8, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, left, 8, BLOCKS * (int)sizeof(int));
        for (int at = 0; at < 2 * BLOCKS; at++) wrong += in[at] != payload_at(at % 2 ? rank : left, 8, at);
        CHECK(wrong == 0, "%d elements are wrong", wrong);
    }
    MPI_Type_free(&strided);
    empty_queue(MPI_COMM_WORLD, &filler);
}

#if HAS_MPI4_CALLS
static void check_isendrecv(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < LENGTHS; at++) {
        MPI_Request request;
        fill_payload(out, lengths[at], rank, at);
        memset(in, 0, LARGE_INTS * sizeof(int));
        MPI_Isendrecv(out, lengths[at], MPI_INT, right, at, in, LARGE_INTS, MPI_INT, left, at, MPI_COMM_WORLD,
                      &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(has_payload(in, lengths[at], left, at), "MPI_Isendrecv of %d integers has wrong data", lengths[at]);
        fill_payload(in, lengths[at], rank, at);
        MPI_Isendrecv_replace(in, lengths[at], MPI_INT, right, at, left, at, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(has_payload(in, lengths[at], left, at), "MPI_Isendrecv_replace of %d integers: wrong data", lengths[at]);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}
#endif

static void check_null_status(const MPI_Status *status) { CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0); }

// MPI_PROC_NULL as source and destination of every call.
static void check_proc_null(void) {
    int value = 11, other = 12, is_found = 0;
    char buffer[100 + MPI_BSEND_OVERHEAD];
    void *detached;
    int size;
    MPI_Status status;
    MPI_Request requests[5];
    MPI_Message message;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Buffer_detach(&detached, &size);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status), check_null_status(&status);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &other, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    check_null_status(&status);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    check_null_status(&status);
    MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status), check_null_status(&status);
    MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &is_found, &status), check_null_status(&status);
    CHECK(is_found, "MPI_Iprobe of MPI_PROC_NULL: flag 0");
    MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status), check_null_status(&status);
    CHECK(message == MPI_MESSAGE_NO_PROC, "MPI_Mprobe of MPI_PROC_NULL: not MPI_MESSAGE_NO_PROC");
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status), check_null_status(&status);
    CHECK(message == MPI_MESSAGE_NULL, "MPI_Mrecv leaves the message handle");
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Issend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Irsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[4]);
    MPI_Wait(&requests[0], &status);
    if (HAS_PROC_NULL_STATUS)
        check_null_status(&status);
    else
        report_skip("status of MPI_Irecv from MPI_PROC_NULL", "the library does not write it");
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    CHECK(value == 11 && other == 12, "a receive from MPI_PROC_NULL wrote its buffer");
    // One side of MPI_Sendrecv is MPI_PROC_NULL on the first and last rank of a chain.
    int to = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, from = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    other = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 2, &other, 1, MPI_INT, from, 2, MPI_COMM_WORLD, &status);
    CHECK(other == (rank > 0 ? rank - 1 : -1), "MPI_Sendrecv in a chain received %d", other);
    CHECK_STATUS(&status, from, rank > 0 ? 2 : MPI_ANY_TAG, rank > 0 ? 4 : 0);
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Messages of a rank to itself, in MPI_COMM_WORLD and in MPI_COMM_SELF.
static void check_self(void) {
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    filler_t filler = fill_queue(MPI_COMM_WORLD), self_filler = fill_queue(MPI_COMM_SELF);
    for (int at = 0; at < 2 * LENGTHS; at++) {
        MPI_Comm comm = comms[at % 2];
        int own = at % 2 ? 0 : rank, ints = lengths[at / 2];
        MPI_Request request;
        MPI_Status status;
        // The receive is posted first.
        fill_payload(out, ints, own, 31);
        memset(in, 0, LARGE_INTS * sizeof(int));
        MPI_Irecv(in, LARGE_INTS, MPI_INT, own, 31, comm, &request);
        MPI_Send(out, ints, MPI_INT, own, 31, comm);
        MPI_Wait(&request, &status);
        CHECK_STATUS(&status, own, 31, ints * (int)sizeof(int));
        CHECK(has_payload(in, ints, own, 31), "%d integers to itself: wrong data", ints);
        // A synchronous send to itself needs the posted receive.
        memset(in, 0, LARGE_INTS * sizeof(int));
        MPI_Irecv(in, LARGE_INTS, MPI_INT, MPI_ANY_SOURCE, 31, comm, &request);
        MPI_Ssend(out, ints, MPI_INT, own, 31, comm);
        MPI_Wait(&request, &status);
        CHECK(has_payload(in, ints, own, 31), "%d integers to itself, synchronous: wrong data", ints);
        // The message is sent first.
        memset(in, 0, LARGE_INTS * sizeof(int));
        MPI_Isend(out, ints, MPI_INT, own, 31, comm, &request);
        MPI_Recv(in, LARGE_INTS, MPI_INT, own, 31, comm, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_STATUS(&status, own, 31, ints * (int)sizeof(int));
        MPI_Sendrecv(out, ints, MPI_INT, own, 32, in, LARGE_INTS, MPI_INT, own, 32, comm, &status);
        CHECK_STATUS(&status, own, 32, ints * (int)sizeof(int));
        MPI_Sendrecv_replace(in, ints, MPI_INT, own, 33, own, 33, comm, &status);
        CHECK_STATUS(&status, own, 33, ints * (int)sizeof(int));
        CHECK(has_payload(in, ints, own, 31), "%d integers replaced by itself: wrong data", ints);
    }
    empty_queue(MPI_COMM_SELF, &self_filler);
    empty_queue(MPI_COMM_WORLD, &filler);
}

static void send_synchronous(int ints, int round) {
    send_blocking(SYNCHRONOUS, ints, right, 41);
    MPI_Send(&round, 1, MPI_INT, right, 42, MPI_COMM_WORLD);
}

// A blocking call of one rank makes progress on its queued receives: MPI_Ssend to a rank that waits in MPI_Recv.
static void check_progress(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int round = 0; round < 20 && ranks > 1; round++) {
        int ints = lengths[round % LENGTHS], last = -1;
        MPI_Request request;
        memset(in, 0, LARGE_INTS * sizeof(int));
        MPI_Irecv(in, LARGE_INTS, MPI_INT, left, 41, MPI_COMM_WORLD, &request);
        if (rank % 2 == 0) send_synchronous(ints, round);
        MPI_Recv(&last, 1, MPI_INT, left, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2) send_synchronous(ints, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(last == round && has_payload(in, ints, left, 41), "round %d has wrong data", round);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "blocking");
    out = allocate(LARGE_INTS * sizeof(int)), in = allocate(LARGE_INTS * sizeof(int));
    step = "MPI_Recv", check_recv();
    step = "send modes", check_send_modes();
    step = "MPI_Sendrecv", check_sendrecv();
    step = "MPI_Sendrecv_replace", check_sendrecv_replace();
    step = "MPI_Sendrecv_replace, strided", check_sendrecv_replace_derived();
#if HAS_MPI4_CALLS
    step = "MPI_Isendrecv", check_isendrecv();
#else
    report_skip("MPI_Isendrecv", "the library does not have the call");
#endif
    step = "MPI_PROC_NULL", check_proc_null();
    step = "self messages", check_self();
    step = "progress", check_progress();
    free(out), free(in);
    return finish();
}
