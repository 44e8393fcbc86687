// Corner cases of overflow matching: messages to self, persistent receives among others, failed calls, callbacks within
// completion calls, communicators that a callback uses while they are freed.
#include "checks.h"

enum { TAG = 77, LATER = 12 };

// A send to self may wait for its receive, whatever its size.
static void check_self(int bytes) {
    char *out = calloc(1, (size_t)bytes), *in = calloc(1, (size_t)bytes);
    MPI_Request request, send;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    memset(out, 5, (size_t)bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[bytes - 1] == 5, "MPI_Send of %d bytes to itself: wrong data", bytes);
    memset(in, 0, (size_t)bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Isend(out, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[bytes - 1] == 5, "MPI_Isend of %d bytes to itself: wrong data", bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, rank, TAG, in, bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, rank, TAG, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(out[bytes - 1] == 5, "MPI_Sendrecv_replace of %d bytes: wrong data", bytes);
    empty_queue(MPI_COMM_WORLD, &filler);
    free(in), free(out);
}

// A persistent receive keeps its place among others in each round, and its datatype after MPI_Type_free.
static void check_persistent_order(int frees_type) {
    int values[LATER], last[2], numbers[LATER + 1];
    MPI_Request requests[LATER], persistent;
    MPI_Datatype type;
    MPI_Type_contiguous(1, MPI_INT, &type), MPI_Type_commit(&type);
    MPI_Recv_init(last, 1, type, left, TAG, MPI_COMM_WORLD, &persistent);
    if (frees_type) MPI_Type_free(&type);
    for (int round = 0; round < 4; round++) {
        filler_t filler = fill_queue(MPI_COMM_WORLD);
        for (int at = 0; at < LATER; at++)
            MPI_Irecv(&values[at], 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &requests[at]);
        MPI_Start(&persistent);
        for (int at = 0; at <= LATER; at++) {
            numbers[at] = at;
            MPI_Send(&numbers[at], 1, MPI_INT, right, TAG, MPI_COMM_WORLD);
        }
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        MPI_Waitall(LATER, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < LATER; at++) CHECK(values[at] == at, "receive %d has message %d", at, values[at]);
        CHECK(last[0] == LATER, "the persistent receive has message %d, round %d", last[0], round);
        empty_queue(MPI_COMM_WORLD, &filler);
        // With an empty queue the receive goes to the library.
        MPI_Start(&persistent);
        MPI_Send(numbers, 1, MPI_INT, right, TAG, MPI_COMM_WORLD);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    if (!frees_type) MPI_Type_free(&type);
    MPI_Request_free(&persistent);
}

// A combined call with a rejected send leaves no receive.
static void check_failed_send(void) {
    int value = 3, received = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    filler_t filler = fill_queue(comm);
    CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, ranks, TAG, left, TAG, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS,
          "MPI_Sendrecv_replace to rank %d succeeds", ranks);
    MPI_Send(&rank, 1, MPI_INT, right, TAG, comm);
    MPI_Recv(&received, 1, MPI_INT, left, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(received == left && value == 3, "received %d, the failed call's buffer has %d", received, value);
    empty_queue(comm, &filler);
    MPI_Comm_free(&comm);
}

// A callback that probes may start a receive during a completion call.
static int probes(void *unused, MPI_Status *status) {
    int flag;
    (void)unused;
    MPI_Iprobe(MPI_ANY_SOURCE, LATER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Status_set_elements(status, MPI_BYTE, 0), MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int ignores(void *unused) { return (void)unused, MPI_SUCCESS; }
static int refuses(void *unused, int complete) { return (void)unused, (void)complete, MPI_SUCCESS; }

static void check_callback(void) {
    int value = -1, index;
    MPI_Request requests[2];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Irecv(&value, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Grequest_start(probes, ignores, refuses, NULL, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, right, TAG, MPI_COMM_WORLD);
    MPI_Grequest_complete(requests[1]);
    for (int left_over = 2; left_over > 0; left_over--) {
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index == 0 || index == 1, "MPI_Waitany returns index %d", index);
        CHECK(index != 0 || value == left, "the receive is complete with %d", value);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// A rejected MPI_Comm_free loses no message.
static void check_rejected_free(void) {
    int values[LATER], value;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < LATER; at++) {
        values[at] = at;
        MPI_Send(&values[at], 1, MPI_INT, right, at, MPI_COMM_WORLD);
    }
    MPI_Recv(&value, 1, MPI_INT, left, LATER - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Comm_free(&world) != MPI_SUCCESS, "MPI_Comm_free of MPI_COMM_WORLD succeeds");
    for (int at = 0; at < LATER - 1; at++) {
        MPI_Recv(&value, 1, MPI_INT, left, at, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == at, "receive of tag %d has %d", at, value);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "corners");
    step = "8 bytes to itself", check_self(8);
    step = "1000 bytes to itself", check_self(1000);
    step = "persistent", check_persistent_order(0);
    step = "persistent with a freed datatype", check_persistent_order(1);
    step = "failed send", check_failed_send();
    step = "callback", check_callback();
    step = "rejected free", check_rejected_free();
    return finish();
}
