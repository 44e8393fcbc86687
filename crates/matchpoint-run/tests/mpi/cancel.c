// MPI_Cancel and MPI_Request_free of queued receives.
//
//     mpiexec -n 2..4 cancel [--fill N]
#include "checks.h"

enum { COUNT = 30, INTS = 4 };

static int in[COUNT][INTS];

static void post(MPI_Request *requests) {
    memset(in, 0, sizeof in);
    for (int at = 0; at < COUNT; at++) {
        int source = at % 3 ? left : MPI_ANY_SOURCE;
        MPI_Irecv(in[at], INTS, MPI_INT, source, at, MPI_COMM_WORLD, &requests[at]);
    }
}

static int is_cancelled(const MPI_Status *status) {
    int flag = -1;
    MPI_Test_cancelled(status, &flag);
    return flag;
}

static void check_message(int at) { CHECK(has_payload(in[at], 2, left, at), "receive %d has wrong data", at); }

enum { BY_WAIT, BY_TEST, BY_WAITALL, BY_WAITANY, BY_TESTSOME, BY_STATUS, WAYS };

static void complete_cancelled(int way, MPI_Request *request, MPI_Status *status) {
    int flag = 0, index = -1, count = 0;
    switch (way) {
    case BY_WAIT: MPI_Wait(request, status); break;
    case BY_TEST:
        while (!flag) MPI_Test(request, &flag, status);
        break;
    case BY_WAITALL: MPI_Waitall(1, request, status); break;
    case BY_WAITANY: MPI_Waitany(1, request, &index, status); break;
    case BY_TESTSOME:
        while (count == 0) MPI_Testsome(1, request, &count, &index, status);
        break;
    case BY_STATUS:
        while (!flag) MPI_Request_get_status(*request, &flag, status);
        CHECK(is_cancelled(status), "MPI_Request_get_status: the status is not cancelled");
        MPI_Wait(request, status);
        break;
    }
    CHECK(*request == MPI_REQUEST_NULL, "the request is not null after completion");
}

// Every second receive is cancelled before any message is sent. The others get their messages.
static void check_cancel(int way) {
    MPI_Request requests[COUNT], again[COUNT];
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    post(requests);
    for (int at = 0; at < COUNT; at += 2) {
        MPI_Cancel(&requests[at]);
        complete_cancelled(way, &requests[at], &status);
        CHECK(is_cancelled(&status), "receive %d is not cancelled", at);
    }
    // A new receive gets the message that the cancelled one would have had.
    for (int at = 0; at < COUNT; at += 2) {
        MPI_Irecv(in[at], INTS, MPI_INT, left, at, MPI_COMM_WORLD, &again[at]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = COUNT - 1; at >= 0; at--) send_payload(right, at, 2, MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        MPI_Wait(at % 2 ? &requests[at] : &again[at], &status);
        CHECK_STATUS(&status, left, at, 8);
        check_message(at);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Cancelled and other receives in one array.
static void check_mixed_waitall(void) {
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    post(requests);
    for (int at = 0; at < COUNT; at += 3) MPI_Cancel(&requests[at]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        if (at % 3) send_payload(right, at, 2, MPI_COMM_WORLD);
    }
    MPI_Waitall(COUNT, requests, statuses);
    for (int at = 0; at < COUNT; at++) {
        CHECK(is_cancelled(&statuses[at]) == (at % 3 == 0), "receive %d has a wrong cancelled flag", at);
        if (at % 3 == 0) continue;
        CHECK_STATUS(&statuses[at], left, at, 8);
        check_message(at);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Cancel after the match has no effect.
static void check_cancel_after_match(void) {
    MPI_Request requests[COUNT];
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    post(requests);
    for (int at = 0; at < COUNT; at++) send_payload(right, at, 2, MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        for (int flag = 0; !flag;) MPI_Request_get_status(requests[at], &flag, &status);
    }
    for (int at = 0; at < COUNT; at++) {
        MPI_Cancel(&requests[at]);
        MPI_Wait(&requests[at], &status);
        CHECK_STATUS(&status, left, at, 8);
        check_message(at);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// A receive of an unexpected message is matched when it is posted.
static void check_cancel_of_unexpected(void) {
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) send_payload(right, at, 2, MPI_COMM_WORLD);
    for (int at = COUNT - 1; at >= 0; at--) {
        MPI_Request request;
        MPI_Probe(left, at, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(in[at], INTS, MPI_INT, left, at, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        CHECK_STATUS(&status, left, at, 8);
        check_message(at);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// A race of cancel and message: exactly one of the two succeeds.
static void check_cancel_race(void) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int round = 0; round < 200; round++) {
        MPI_Request request;
        MPI_Status status;
        int value = -1;
        MPI_Irecv(&value, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &request);
        MPI_Send(&round, 1, MPI_INT, right, 60, MPI_COMM_WORLD);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        if (is_cancelled(&status)) {
            CHECK(value == -1, "round %d: a cancelled receive has data", round);
            MPI_Recv(&value, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &status);
        }
        CHECK(value == round, "round %d has message %d", round, value);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Freed receives still take their messages, in order with a receive that was posted later.
static void check_request_free(void) {
    MPI_Request requests[COUNT];
    int last[INTS];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    post(requests);
    for (int at = 0; at < COUNT; at++) {
        MPI_Request_free(&requests[at]);
        CHECK(requests[at] == MPI_REQUEST_NULL, "request %d is not null after MPI_Request_free", at);
    }
    MPI_Request later;
    MPI_Irecv(last, INTS, MPI_INT, left, 3, MPI_COMM_WORLD, &later);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) send_payload(right, at, 2, MPI_COMM_WORLD);
    int second[3] = {1, 2, 3};
    MPI_Send(second, 3, MPI_INT, right, 3, MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Wait(&later, &status);
    CHECK_STATUS(&status, left, 3, 12);
    empty_queue(MPI_COMM_WORLD, &filler);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) check_message(at);
}

// Persistent receives are cancelled, completed and started again.
static void check_persistent(void) {
    MPI_Request requests[COUNT];
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        MPI_Recv_init(in[at], INTS, MPI_INT, at % 3 ? left : MPI_ANY_SOURCE, at, MPI_COMM_WORLD, &requests[at]);
    }
    for (int round = 0; round < 3; round++) {
        memset(in, 0, sizeof in);
        MPI_Startall(COUNT, requests);
        for (int at = 0; at < COUNT; at++) {
            MPI_Cancel(&requests[at]);
            MPI_Wait(&requests[at], &status);
            CHECK(is_cancelled(&status), "round %d: persistent receive %d is not cancelled", round, at);
            CHECK(requests[at] != MPI_REQUEST_NULL, "round %d: persistent request %d is null", round, at);
        }
        MPI_Startall(COUNT, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int at = 0; at < COUNT; at++) send_payload(right, at, 2, MPI_COMM_WORLD);
        for (int at = 0; at < COUNT; at++) {
            MPI_Wait(&requests[at], &status);
            CHECK_STATUS(&status, left, at, 8);
            check_message(at);
        }
    }
    for (int at = 0; at < COUNT; at++) MPI_Request_free(&requests[at]);
    empty_queue(MPI_COMM_WORLD, &filler);
}

// A request may be cancelled and then freed without a wait.
static void check_cancel_and_free(void) {
    MPI_Request requests[COUNT];
    MPI_Status status;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    post(requests);
    for (int at = 0; at < COUNT; at++) MPI_Cancel(&requests[at]), MPI_Request_free(&requests[at]);
    post(requests);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) send_payload(right, at, 2, MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        MPI_Wait(&requests[at], &status);
        CHECK_STATUS(&status, left, at, 8);
        check_message(at);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    static const char *const names[WAYS] = {
        "cancel, MPI_Wait",    "cancel, MPI_Test",     "cancel, MPI_Waitall",
        "cancel, MPI_Waitany", "cancel, MPI_Testsome", "cancel, MPI_Request_get_status",
    };
    begin(&argc, &argv, "cancel");
    for (int way = 0; way < WAYS; way++) step = names[way], check_cancel(way);
    step = "cancelled and other receives", check_mixed_waitall();
    step = "cancel after match", check_cancel_after_match();
    step = "cancel of unexpected", check_cancel_of_unexpected();
    step = "cancel race", check_cancel_race();
    step = "MPI_Request_free", check_request_free();
    step = "persistent", check_persistent();
    step = "cancel and MPI_Request_free", check_cancel_and_free();
    return finish();
}
