// Probes while receives wait in the queue and messages are unexpected.
//
//     mpiexec -n 2..4 probing [--fill N] [--probes N]
#include "checks.h"

enum { QUEUED = 20, INTS = 6, LARGE_INTS = 100000, UNTOUCHED = 4711 };

// MPICH 4.0 sets MPI_ERROR in the status of probes.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000 && !defined(I_MPI_VERSION)
enum { PROBE_SETS_ERROR = 1 };
#else
enum { PROBE_SETS_ERROR = 0 };
#endif

static int *large_out, *large_in;

static MPI_Comm sync_comm;

// Returns after all messages that the left neighbour sent before its call have arrived. No rank returns before all ranks
// have called.
static void synchronize(void) {
    MPI_Sendrecv(NULL, 0, MPI_BYTE, right, 900, NULL, 0, MPI_BYTE, left, 900, sync_comm, MPI_STATUS_IGNORE);
    MPI_Barrier(sync_comm);
}

static int is_found(int source, int tag, MPI_Status *status) {
    int flag = -1;
    MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, status);
    return flag;
}

// A queued receive takes its message: no probe reports it.
static void check_queued_receive_wins(void) {
    int buffers[QUEUED][INTS];
    MPI_Request requests[QUEUED];
    MPI_Status status;
    MPI_Message message;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < QUEUED; at++) {
        MPI_Irecv(buffers[at], INTS, MPI_INT, at % 2 ? left : MPI_ANY_SOURCE, 100 + at, MPI_COMM_WORLD, &requests[at]);
    }
    synchronize();
    for (int at = QUEUED - 1; at >= 0; at--) send_payload(right, 100 + at, 1 + at % INTS, MPI_COMM_WORLD);
    synchronize();
    for (int at = 0; at < QUEUED; at++) {
        int flag = 0;
        CHECK(!is_found(left, 100 + at, &status), "MPI_Iprobe reports the message of queued receive %d", at);
        MPI_Improbe(MPI_ANY_SOURCE, 100 + at, MPI_COMM_WORLD, &flag, &message, &status);
        CHECK(!flag, "MPI_Improbe reports the message of queued receive %d", at);
    }
    CHECK(!is_found(MPI_ANY_SOURCE, MPI_ANY_TAG, &status), "MPI_Iprobe reports tag %d", status.MPI_TAG);
    MPI_Waitall(QUEUED, requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < QUEUED; at++) {
        CHECK(has_payload(buffers[at], 1 + at % INTS, left, 100 + at), "receive %d has wrong data", at);
    }
    synchronize();
    empty_queue(MPI_COMM_WORLD, &filler);
}

// The second of two equal messages is unexpected, the first one has a queued receive.
static void check_second_message(void) {
    int first[INTS], second[INTS];
    MPI_Request request;
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Irecv(first, INTS, MPI_INT, left, 5, MPI_COMM_WORLD, &request);
    send_payload(right, 5, 2, MPI_COMM_WORLD), send_payload(right, 5, 3, MPI_COMM_WORLD);
    MPI_Probe(left, 5, MPI_COMM_WORLD, &status);
    CHECK_PROBED(&status, left, 5, 12);
    MPI_Recv(second, INTS, MPI_INT, left, 5, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, left, 5, 12);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, left, 5, 8);
    empty_queue(MPI_COMM_WORLD, &filler);
}

// MPI_Probe and MPI_Iprobe report the earliest unexpected message that their arguments accept, and leave it.
static void check_probe(int ints) {
    MPI_Status status, again;
    MPI_Request sends[4];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < 4; at++) {
        fill_payload(large_out + at * ints, ints, rank, 10 + at);
        MPI_Isend(large_out + at * ints, ints, MPI_INT, right, 10 + at, MPI_COMM_WORLD, &sends[at]);
    }
    synchronize();
    const int order[4] = {2, 0, 3, 1};
    for (int at = 0; at < 4; at++) {
        int tag = 10 + order[at], source = at % 2 ? left : MPI_ANY_SOURCE;
        status.MPI_ERROR = again.MPI_ERROR = UNTOUCHED;
        MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
        CHECK_PROBED(&status, left, tag, ints * (int)sizeof(int));
        CHECK(is_found(source, tag, &again), "MPI_Iprobe does not report the message of MPI_Probe");
        CHECK_PROBED(&again, left, tag, ints * (int)sizeof(int));
        CHECK(PROBE_SETS_ERROR || (status.MPI_ERROR == UNTOUCHED && again.MPI_ERROR == UNTOUCHED),
              "a probe modifies MPI_ERROR");
        CHECK(!is_found(left, 99, MPI_STATUS_IGNORE), "MPI_Iprobe reports a tag that was not sent");
        MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_TAG == (at < 2 ? 10 : 11), "the earliest message has tag %d", status.MPI_TAG);
        MPI_Recv(large_in, ints, MPI_INT, left, tag, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, left, tag, ints * (int)sizeof(int));
        CHECK(has_payload(large_in, ints, left, tag), "tag %d has wrong data", tag);
    }
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    synchronize();
    CHECK(!is_found(MPI_ANY_SOURCE, MPI_ANY_TAG, &status), "MPI_Iprobe reports tag %d", status.MPI_TAG);
    synchronize();
    empty_queue(MPI_COMM_WORLD, &filler);
}

static void mprobe(int is_blocking, int source, int tag, MPI_Message *message, MPI_Status *status) {
    int flag = 0;
    if (is_blocking) {
        MPI_Mprobe(source, tag, MPI_COMM_WORLD, message, status);
    } else {
        while (!flag) MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, message, status);
    }
}

// A matched message is received later, after other receives of the same source and tag.
static void check_matched(int ints, int is_blocking, int is_nonblocking_receive) {
    MPI_Status status;
    MPI_Message message;
    MPI_Request sends[3], receive;
    int *second = allocate((size_t)ints * sizeof(int)), third = -1;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    fill_payload(large_out, ints, rank, 21), fill_payload(large_out + ints, ints, rank, 22);
    MPI_Isend(large_out, ints, MPI_INT, right, 20, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(large_out + ints, ints, MPI_INT, right, 20, MPI_COMM_WORLD, &sends[1]);
    MPI_Isend(&rank, 1, MPI_INT, right, 20, MPI_COMM_WORLD, &sends[2]);
    status.MPI_ERROR = UNTOUCHED;
    mprobe(is_blocking, MPI_ANY_SOURCE, 20, &message, &status);
    CHECK(PROBE_SETS_ERROR || status.MPI_ERROR == UNTOUCHED, "a matched probe modifies MPI_ERROR");
    CHECK_PROBED(&status, left, 20, ints * (int)sizeof(int));
    MPI_Irecv(second, ints, MPI_INT, left, 20, MPI_COMM_WORLD, &receive);
    MPI_Recv(&third, 1, MPI_INT, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    if (is_nonblocking_receive) {
        MPI_Imrecv(large_in, ints, MPI_INT, &message, &receive);
        CHECK(message == MPI_MESSAGE_NULL, "MPI_Imrecv leaves the message handle");
        MPI_Wait(&receive, &status);
    } else {
        MPI_Mrecv(large_in, ints, MPI_INT, &message, &status);
        CHECK(message == MPI_MESSAGE_NULL, "MPI_Mrecv leaves the message handle");
    }
    CHECK_STATUS(&status, left, 20, ints * (int)sizeof(int));
    CHECK(has_payload(large_in, ints, left, 21), "the matched message has wrong data");
    CHECK(has_payload(second, ints, left, 22) && third == left, "a receive after the matched probe has wrong data");
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    empty_queue(MPI_COMM_WORLD, &filler);
    free(second);
}

// Many matched messages, received in reverse order.
static void check_many_matched(void) {
    enum { MANY = 300 };
    MPI_Message messages[MANY];
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < MANY; at++) send_payload(right, at % 5, 1 + at % INTS, MPI_COMM_WORLD);
    for (int at = 0; at < MANY; at++) {
        mprobe(at % 2, at % 3 ? left : MPI_ANY_SOURCE, at % 5, &messages[at], &status);
        CHECK_PROBED(&status, left, at % 5, (1 + at % INTS) * (int)sizeof(int));
    }
    for (int at = MANY - 1; at >= 0; at--) {
        int buffer[INTS];
        MPI_Mrecv(buffer, INTS, MPI_INT, &messages[at], &status);
        CHECK_STATUS(&status, left, at % 5, (1 + at % INTS) * (int)sizeof(int));
        CHECK(has_payload(buffer, 1 + at % INTS, left, at % 5), "matched message %d has wrong data", at);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Matched receives of MPI_PROC_NULL.
static void check_proc_null(void) {
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    int flag = 0, value = 3;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Improbe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(flag && message == MPI_MESSAGE_NO_PROC, "MPI_Improbe of MPI_PROC_NULL: flag %d", flag);
    CHECK_PROBED(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK(value == 3 && message == MPI_MESSAGE_NULL, "MPI_Imrecv of MPI_MESSAGE_NO_PROC");
    MPI_Probe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Messages on another communicator are not reported.
static void check_communicators(void) {
    MPI_Comm other;
    MPI_Status status;
    int flag = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    filler_t filler = fill_queue(MPI_COMM_WORLD), other_filler = fill_queue(other);
    send_payload(right, 6, 2, other);
    MPI_Probe(left, 6, other, &status);
    CHECK_PROBED(&status, left, 6, 8);
    CHECK(!is_found(MPI_ANY_SOURCE, 6, &status), "MPI_Iprobe reports a message of another communicator");
    int buffer[2];
    MPI_Recv(buffer, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &status);
    CHECK_STATUS(&status, left, 6, 8);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, other, &flag, &status);
    synchronize();
    empty_queue(other, &other_filler);
    empty_queue(MPI_COMM_WORLD, &filler);
    MPI_Comm_free(&other);
}

// Many probes for a message that arrives late, while other messages are unexpected.
static void check_probe_loop(long probes) {
    enum { WAITING = 50 };
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < WAITING; at++) send_payload(right, 700 + at, 1, MPI_COMM_WORLD);
    synchronize();
    for (long probe = 0; probe < probes; probe++) {
        CHECK(!is_found(probe % 2 ? left : MPI_ANY_SOURCE, 799, &status), "MPI_Iprobe reports a message not yet sent");
    }
    synchronize();
    send_payload(right, 799, 2, MPI_COMM_WORLD);
    while (!is_found(left, 799, &status)) continue;
    CHECK_PROBED(&status, left, 799, 8);
    int buffer[2];
    MPI_Recv(buffer, 2, MPI_INT, left, 799, MPI_COMM_WORLD, &status);
    for (int at = WAITING - 1; at >= 0; at--) {
        MPI_Probe(MPI_ANY_SOURCE, 700 + at, MPI_COMM_WORLD, &status);
        MPI_Recv(buffer, 2, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, left, 700 + at, 4);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "probing");
    MPI_Comm_dup(MPI_COMM_WORLD, &sync_comm);
    if (PROBE_SETS_ERROR) report_skip("MPI_ERROR after probes", "the library sets the field");
    large_out = allocate(4 * LARGE_INTS * sizeof(int)), large_in = allocate(LARGE_INTS * sizeof(int));
    step = "queued receive", check_queued_receive_wins();
    step = "second message", check_second_message();
    const int lengths[] = {1, 1000, LARGE_INTS};
    for (int at = 0; at < 3; at++) {
        step = "probe", check_probe(lengths[at]);
        step = "matched probe";
        for (int way = 0; way < 4; way++) check_matched(lengths[at], way & 1, way >> 1);
    }
    step = "many matched messages", check_many_matched();
    step = "MPI_PROC_NULL", check_proc_null();
    step = "communicators", check_communicators();
    step = "probe loop", check_probe_loop(option(argc, argv, "--probes", 20000));
    free(large_out), free(large_in);
    MPI_Comm_free(&sync_comm);
    return finish();
}
