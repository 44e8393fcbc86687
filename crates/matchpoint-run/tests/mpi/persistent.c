// Persistent requests with a full queue.
//
//     mpiexec -n 1.. persistent [--fill N]
#include "checks.h"

enum { COUNT = 12, INTS = 5, ROUNDS = 30, LARGE_INTS = 50000 };

// Open MPI 4.1 with pml/ucx sends the data of the first round again when a Bsend_init request restarts.
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
enum { BSEND_INIT_REPEATS = 1 };
#else
enum { BSEND_INIT_REPEATS = 0 };
#endif
// MPICH returns the empty status, without MPI_PROC_NULL as source, for a persistent receive from MPI_PROC_NULL.
#if defined(MPICH_NUMVERSION) && !defined(I_MPI_VERSION)
enum { PROC_NULL_HAS_EMPTY_STATUS = 1 };
#else
enum { PROC_NULL_HAS_EMPTY_STATUS = 0 };
#endif

static int out[COUNT][INTS], in[COUNT][INTS];

static void fill_round(int round) {
    for (int at = 0; at < COUNT; at++) {
        fill_payload(out[at], INTS, rank + 100 * round, at);
        memset(in[at], 0, sizeof in[at]);
    }
}

static void check_round(int round, const MPI_Status *statuses) {
    for (int at = 0; at < COUNT; at++) {
        CHECK(has_payload(in[at], INTS, left + 100 * round, at), "round %d: receive %d has wrong data", round, at);
        if (statuses) CHECK_STATUS(&statuses[at], left, at, INTS * (int)sizeof(int));
    }
}

static void init_receives(MPI_Request *requests) {
    for (int at = 0; at < COUNT; at++) {
        int source = at % 3 ? left : MPI_ANY_SOURCE;
        MPI_Recv_init(in[at], INTS, MPI_INT, source, at, MPI_COMM_WORLD, &requests[at]);
    }
}

static void free_requests(MPI_Request *requests, int count) {
    for (int at = 0; at < count; at++) {
        MPI_Request_free(&requests[at]);
        CHECK(requests[at] == MPI_REQUEST_NULL, "request %d is not null after MPI_Request_free", at);
    }
}

// Persistent receives and sends over many rounds. The queue is full in every second round.
static void run_rounds(void) {
    MPI_Request receives[COUNT], sends[COUNT];
    MPI_Status statuses[COUNT];
    init_receives(receives);
    for (int at = 0; at < COUNT; at++) MPI_Send_init(out[at], INTS, MPI_INT, right, at, MPI_COMM_WORLD, &sends[at]);
    for (int round = 0; round < ROUNDS; round++) {
        filler_t filler = {0};
        if (round % 2) filler = fill_queue(MPI_COMM_WORLD);
        fill_round(round);
        if (round % 3)
            MPI_Startall(COUNT, receives);
        else
            for (int at = 0; at < COUNT; at++) MPI_Start(&receives[at]);
        MPI_Startall(COUNT, sends);
        if (round % 4 == 0) {
            MPI_Waitall(COUNT, receives, statuses);
        } else if (round % 4 == 1) {
            for (int at = COUNT - 1; at >= 0; at--) MPI_Wait(&receives[at], &statuses[at]);
        } else if (round % 4 == 2) {
            for (int done = 0; done < COUNT; done++) {
                int index;
                MPI_Status status;
                MPI_Waitany(COUNT, receives, &index, &status);
                CHECK(index >= 0 && index < COUNT, "MPI_Waitany: index %d", index);
                if (index >= 0 && index < COUNT) statuses[index] = status;
            }
        } else {
            for (int is_complete = 0; !is_complete;) MPI_Testall(COUNT, receives, &is_complete, statuses);
        }
        check_round(round, statuses);
        MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
        if (round % 2) empty_queue(MPI_COMM_WORLD, &filler);
    }
    free_requests(receives, COUNT), free_requests(sends, COUNT);
}

// Persistent and other receives of one source and tag have messages in the order of their start.
static void check_start_order(void) {
    enum { MIXED = 40 };
    int values[MIXED];
    MPI_Request requests[MIXED], persistent[MIXED / 2];
    for (int at = 0; at < MIXED / 2; at++) {
        MPI_Recv_init(&values[2 * at], 1, MPI_INT, left, 3, MPI_COMM_WORLD, &persistent[at]);
    }
    for (int round = 0; round < 6; round++) {
        filler_t filler = fill_queue(MPI_COMM_WORLD);
        for (int at = 0; at < MIXED; at++) {
            values[at] = -1;
            if (at % 2)
                MPI_Irecv(&values[at], 1, MPI_INT, at % 3 ? left : MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[at]);
            else
                MPI_Start(&persistent[at / 2]), requests[at] = persistent[at / 2];
        }
        for (int at = 0; at < MIXED; at++) MPI_Send(&at, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
        MPI_Waitall(MIXED, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < MIXED; at++) {
            CHECK(values[at] == at, "round %d: receive %d has message %d", round, at, values[at]);
        }
        empty_queue(MPI_COMM_WORLD, &filler);
    }
    free_requests(persistent, MIXED / 2);
}

// MPI_Request_free of an active request: the receive completes, and its data arrives before a later message.
static void check_free_active(void) {
    MPI_Request receives[COUNT];
    for (int round = 0; round < 4; round++) {
        int last = -1;
        filler_t filler = fill_queue(MPI_COMM_WORLD);
        MPI_Request last_request;
        init_receives(receives);
        fill_round(round);
        MPI_Startall(COUNT, receives);
        free_requests(receives, COUNT);
        MPI_Irecv(&last, 1, MPI_INT, left, COUNT, MPI_COMM_WORLD, &last_request);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int at = 0; at < COUNT; at++) MPI_Send(out[at], INTS, MPI_INT, right, at, MPI_COMM_WORLD);
        MPI_Send(&rank, 1, MPI_INT, right, COUNT, MPI_COMM_WORLD);
        MPI_Wait(&last_request, MPI_STATUS_IGNORE);
        CHECK(last == left, "last message is %d", last);
        empty_queue(MPI_COMM_WORLD, &filler);
        MPI_Barrier(MPI_COMM_WORLD);
        check_round(round, NULL);
    }
}

static void check_free_inactive(void) {
    MPI_Request receives[COUNT], sends[COUNT];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    init_receives(receives);
    for (int at = 0; at < COUNT; at++) MPI_Ssend_init(out[at], INTS, MPI_INT, right, at, MPI_COMM_WORLD, &sends[at]);
    free_requests(receives, COUNT), free_requests(sends, COUNT);
    empty_queue(MPI_COMM_WORLD, &filler);
}

// All four kinds of persistent sends to queued receives. Receives of ready sends are posted before the barrier.
static void check_send_modes(void) {
    if (BSEND_INIT_REPEATS) report_skip("data of MPI_Bsend_init", "the library repeats the data of the first round");
    enum { MODES = 4 };
    int *large_in[MODES], *large_out[MODES], room = MPI_BSEND_OVERHEAD + LARGE_INTS * (int)sizeof(int);
    char *buffer = allocate((size_t)room);
    MPI_Request receives[MODES], sends[MODES];
    MPI_Buffer_attach(buffer, room);
    for (int at = 0; at < MODES; at++) {
        large_in[at] = allocate(LARGE_INTS * sizeof(int)), large_out[at] = allocate(LARGE_INTS * sizeof(int));
        MPI_Recv_init(large_in[at], LARGE_INTS, MPI_INT, left, at, MPI_COMM_WORLD, &receives[at]);
    }
    MPI_Send_init(large_out[0], LARGE_INTS, MPI_INT, right, 0, MPI_COMM_WORLD, &sends[0]);
    MPI_Ssend_init(large_out[1], LARGE_INTS, MPI_INT, right, 1, MPI_COMM_WORLD, &sends[1]);
    MPI_Bsend_init(large_out[2], LARGE_INTS, MPI_INT, right, 2, MPI_COMM_WORLD, &sends[2]);
    MPI_Rsend_init(large_out[3], LARGE_INTS, MPI_INT, right, 3, MPI_COMM_WORLD, &sends[3]);
    for (int round = 0; round < 8; round++) {
        filler_t filler = fill_queue(MPI_COMM_WORLD);
        for (int at = 0; at < MODES; at++) fill_payload(large_out[at], LARGE_INTS, rank, at * 10 + round);
        MPI_Startall(MODES, receives);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Startall(MODES, sends);
        MPI_Waitall(MODES, receives, MPI_STATUSES_IGNORE);
        for (int at = 0; at < MODES; at++) {
            if (at == 2 && BSEND_INIT_REPEATS) continue;
            CHECK(has_payload(large_in[at], LARGE_INTS, left, at * 10 + round), "mode %d has wrong data", at);
        }
        MPI_Waitall(MODES, sends, MPI_STATUSES_IGNORE);
        // The buffer is free for the next round only when the buffered send has left it.
        void *detached;
        int size;
        MPI_Buffer_detach(&detached, &size);
        MPI_Buffer_attach(buffer, room);
        empty_queue(MPI_COMM_WORLD, &filler);
    }
    void *detached;
    int size;
    MPI_Buffer_detach(&detached, &size);
    CHECK(detached == buffer && size == room, "the detached buffer has %d bytes", size);
    free_requests(receives, MODES), free_requests(sends, MODES);
    for (int at = 0; at < MODES; at++) free(large_in[at]), free(large_out[at]);
    free(buffer);
}

// Persistent receives from MPI_PROC_NULL complete at once.
static void check_proc_null(void) {
    int value = 17, is_complete = 0;
    MPI_Request request;
    MPI_Status status;
    if (PROC_NULL_HAS_EMPTY_STATUS)
        report_skip("status of a persistent receive from MPI_PROC_NULL", "the library returns the empty status");
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&request);
        MPI_Test(&request, &is_complete, &status);
        CHECK(is_complete, "receive from MPI_PROC_NULL is pending");
        if (!is_complete) MPI_Wait(&request, &status);
        if (!PROC_NULL_HAS_EMPTY_STATUS) CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
    CHECK(value == 17, "receive from MPI_PROC_NULL wrote its buffer");
    MPI_Request_free(&request);
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "persistent");
    step = "rounds", run_rounds();
    step = "start order", check_start_order();
    step = "free inactive", check_free_inactive();
    step = "free active", check_free_active();
    step = "send modes", check_send_modes();
    step = "MPI_PROC_NULL", check_proc_null();
    return finish();
}
