// Every completion call with mixed arrays: library receives, queued receives, sends, null and persistent requests.
//
//     mpiexec -n 1.. completion [--fill N]
#include "checks.h"

enum { MOST_SLOTS = 20, MOST_INTS = 6, SEND_TAG = 1000, UNTOUCHED = 4711 };

// The kind of a slot in the request array. Library receives are posted before the queue is filled, queued receives
// after.
enum {
    LIBRARY = 'l',
    QUEUED = 'q',
    SEND = 's',
    NULL_REQUEST = '0',
    PERSISTENT_LIBRARY = 'p',
    PERSISTENT_QUEUED = 'P',
    INACTIVE = 'i'
};

static const char *const arrays[] = {"l0qspqiPsq0lqP", "l0qsqiqsq0lqi", "qqqqqqqqqqqqqqqqqqqq", "llllll", "ssss", "qs",
                                     "iPPpp0", "q", "0q", "lq0"};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

typedef struct mix {
    const char *kinds;
    int slots, with_statuses, completed;
    int buffers[MOST_SLOTS][MOST_INTS], is_done[MOST_SLOTS];
    MPI_Request requests[MOST_SLOTS], posted[MOST_SLOTS];
    // Receives of the messages that the left neighbour sends from slots of kind SEND.
    int peer_buffers[MOST_SLOTS][MOST_INTS];
    MPI_Request peers[MOST_SLOTS];
    filler_t filler;
} mix_t;

static int ints_of(int slot) { return slot % MOST_INTS + (slot % MOST_INTS == 0); }

static int is_started(int kind) { return kind == PERSISTENT_LIBRARY || kind == PERSISTENT_QUEUED; }
static int is_persistent(int kind) { return is_started(kind) || kind == INACTIVE; }
static int is_receive(int kind) { return is_started(kind) || kind == LIBRARY || kind == QUEUED; }
static int is_active(int kind) { return is_receive(kind) || kind == SEND; }

static int active_slots(const mix_t *mix) {
    int active = 0;
    for (int at = 0; at < mix->slots; at++) active += is_active(mix->kinds[at]);
    return active;
}

static void post_slot(mix_t *mix, int at) {
    int *buffer = mix->buffers[at], source = at % 3 ? left : MPI_ANY_SOURCE;
    MPI_Request *request = &mix->requests[at];
    if (is_persistent(mix->kinds[at]))
        MPI_Recv_init(buffer, MOST_INTS, MPI_INT, source, at, MPI_COMM_WORLD, request);
    else
        MPI_Irecv(buffer, MOST_INTS, MPI_INT, source, at, MPI_COMM_WORLD, request);
    if (is_started(mix->kinds[at])) MPI_Start(request);
}

static void start_send(mix_t *mix, int at) {
    fill_payload(mix->buffers[at], ints_of(at), rank, SEND_TAG + at);
    MPI_Isend(mix->buffers[at], ints_of(at), MPI_INT, right, SEND_TAG + at, MPI_COMM_WORLD, &mix->requests[at]);
}

// Posts all receives of the array. Sends start later, because they may complete at once.
static void post_mix(mix_t *mix, const char *kinds, int with_statuses) {
    *mix = (mix_t){.kinds = kinds, .slots = (int)strlen(kinds), .with_statuses = with_statuses};
    for (int at = 0; at < mix->slots; at++) {
        mix->requests[at] = mix->peers[at] = MPI_REQUEST_NULL;
        if (kinds[at] == SEND)
            MPI_Irecv(mix->peer_buffers[at], MOST_INTS, MPI_INT, left, SEND_TAG + at, MPI_COMM_WORLD, &mix->peers[at]);
        if (kinds[at] == LIBRARY || kinds[at] == PERSISTENT_LIBRARY) post_slot(mix, at);
    }
    mix->filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < mix->slots; at++) {
        if (kinds[at] == QUEUED || kinds[at] == PERSISTENT_QUEUED || kinds[at] == INACTIVE) post_slot(mix, at);
    }
    memcpy(mix->posted, mix->requests, sizeof mix->posted);
}

static void send_messages(const mix_t *mix) {
    int order[MOST_SLOTS];
    random_t random = random_from(7, rank);
    for (int at = 0; at < mix->slots; at++) order[at] = at;
    shuffle(order, mix->slots, &random);
    for (int at = 0; at < mix->slots; at++) {
        if (is_receive(mix->kinds[order[at]])) send_payload(right, order[at], ints_of(order[at]), MPI_COMM_WORLD);
    }
}

// Checks a slot that a completion call reported. `status` is null if the call used MPI_STATUS(ES)_IGNORE.
static void check_completed(mix_t *mix, int at, const MPI_Status *status) {
    if (at < 0 || at >= mix->slots) {
        CHECK(0, "completed index is %d", at);
        return;
    }
    int kind = mix->kinds[at], is_cancelled = 0;
    CHECK(is_active(kind), "slot %d of kind %c was reported as completed", at, kind);
    CHECK(!mix->is_done[at], "slot %d was reported twice", at);
    mix->is_done[at] = 1, mix->completed++;
    if (is_receive(kind)) {
        CHECK(has_payload(mix->buffers[at], ints_of(at), left, at), "slot %d has wrong data", at);
        if (status) CHECK_STATUS(status, left, at, ints_of(at) * (int)sizeof(int));
    } else if (status) {
        MPI_Test_cancelled(status, &is_cancelled);
        CHECK(!is_cancelled, "send in slot %d is cancelled", at);
    }
    if (is_persistent(kind))
        CHECK(mix->requests[at] == mix->posted[at], "persistent request in slot %d has changed", at);
    else
        CHECK(mix->requests[at] == MPI_REQUEST_NULL, "request in slot %d is not null after completion", at);
}

// Checks one entry of a call that reports all slots, active or not.
static void check_entry(mix_t *mix, int at, const MPI_Status *status) {
    if (is_active(mix->kinds[at]))
        check_completed(mix, at, status);
    else if (status)
        CHECK_EMPTY(status);
}

static MPI_Status marked(void) {
    MPI_Status status;
    memset(&status, 0x11, sizeof status);
    status.MPI_ERROR = UNTOUCHED;
    return status;
}

// MPI 4.1, section 3.2.5: calls that return one status do not modify MPI_ERROR.
static void check_untouched(const MPI_Status *status) {
    CHECK(!status || status->MPI_ERROR == UNTOUCHED, "MPI_ERROR is %d after a call with a single status",
          status->MPI_ERROR);
}

static void complete_by_wait(mix_t *mix) {
    for (int at = 0; at < mix->slots; at++) {
        MPI_Status status = marked(), *used = mix->with_statuses ? &status : MPI_STATUS_IGNORE;
        MPI_Wait(&mix->requests[at], used);
        check_entry(mix, at, mix->with_statuses ? &status : NULL);
        if (is_active(mix->kinds[at])) check_untouched(mix->with_statuses ? &status : NULL);
    }
}

static void complete_by_test(mix_t *mix) {
    for (int at = mix->slots - 1; at >= 0; at--) {
        MPI_Status status = marked(), *used = mix->with_statuses ? &status : MPI_STATUS_IGNORE;
        for (int is_complete = 0; !is_complete;) MPI_Test(&mix->requests[at], &is_complete, used);
        check_entry(mix, at, mix->with_statuses ? &status : NULL);
        if (is_active(mix->kinds[at])) check_untouched(mix->with_statuses ? &status : NULL);
    }
}

static void complete_all(mix_t *mix, int is_test) {
    MPI_Status statuses[MOST_SLOTS], *used = mix->with_statuses ? statuses : MPI_STATUSES_IGNORE;
    int is_complete = 0;
    if (is_test) {
        while (!is_complete) MPI_Testall(mix->slots, mix->requests, &is_complete, used);
    } else {
        MPI_Waitall(mix->slots, mix->requests, used);
    }
    for (int at = 0; at < mix->slots; at++) check_entry(mix, at, mix->with_statuses ? &statuses[at] : NULL);
}
static void complete_by_waitall(mix_t *mix) { complete_all(mix, 0); }
static void complete_by_testall(mix_t *mix) { complete_all(mix, 1); }

static void complete_any(mix_t *mix, int is_test) {
    while (mix->completed < active_slots(mix)) {
        MPI_Status status = marked(), *used = mix->with_statuses ? &status : MPI_STATUS_IGNORE;
        int index = -1, is_complete = 0;
        if (is_test) {
            while (!is_complete) MPI_Testany(mix->slots, mix->requests, &index, &is_complete, used);
        } else {
            MPI_Waitany(mix->slots, mix->requests, &index, used);
        }
        check_completed(mix, index, mix->with_statuses ? &status : NULL);
        check_untouched(mix->with_statuses ? &status : NULL);
        if (index == MPI_UNDEFINED) return;
    }
}
static void complete_by_waitany(mix_t *mix) { complete_any(mix, 0); }
static void complete_by_testany(mix_t *mix) { complete_any(mix, 1); }

static void complete_some(mix_t *mix, int is_test) {
    while (mix->completed < active_slots(mix)) {
        MPI_Status statuses[MOST_SLOTS], *used = mix->with_statuses ? statuses : MPI_STATUSES_IGNORE;
        int indices[MOST_SLOTS], count = 0;
        if (is_test) {
            while (count == 0) MPI_Testsome(mix->slots, mix->requests, &count, indices, used);
        } else {
            MPI_Waitsome(mix->slots, mix->requests, &count, indices, used);
        }
        CHECK(count > 0 && count <= mix->slots, "count of completed requests is %d", count);
        if (count < 0 || count > mix->slots) return;
        for (int at = 0; at < count; at++) check_completed(mix, indices[at], mix->with_statuses ? &statuses[at] : NULL);
    }
}
static void complete_by_waitsome(mix_t *mix) { complete_some(mix, 0); }
static void complete_by_testsome(mix_t *mix) { complete_some(mix, 1); }

// MPICH from 4.1 and Intel MPI: MPI_Request_get_status makes a complete persistent request inactive, so that later calls
// return an empty status.
#if defined(I_MPI_VERSION) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000)
enum { GET_STATUS_ENDS_PERSISTENT = 1 };
#else
enum { GET_STATUS_ENDS_PERSISTENT = 0 };
#endif

// MPI_Request_get_status twice, then MPI_Wait: all three return the same status, and the request stays until MPI_Wait.
static void complete_by_get_status(mix_t *mix) {
    for (int at = 0; at < mix->slots; at++) {
        MPI_Status first = marked(), second = marked(), last = marked();
        int is_complete = 0, is_again = 0, is_receive_slot = is_receive(mix->kinds[at]);
        MPI_Request before = mix->requests[at];
        while (!is_complete) MPI_Request_get_status(mix->requests[at], &is_complete, &first);
        if (is_receive_slot && GET_STATUS_ENDS_PERSISTENT && is_persistent(mix->kinds[at])) {
            CHECK_STATUS(&first, left, at, ints_of(at) * (int)sizeof(int));
            check_completed(mix, at, NULL);
            MPI_Wait(&mix->requests[at], MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Request_get_status(mix->requests[at], &is_again, mix->with_statuses ? &second : MPI_STATUS_IGNORE);
        CHECK(is_again && mix->requests[at] == before, "slot %d is not complete in the second call", at);
        if (is_receive_slot) {
            CHECK_STATUS(&first, left, at, ints_of(at) * (int)sizeof(int));
            if (mix->with_statuses) CHECK_STATUS(&second, left, at, ints_of(at) * (int)sizeof(int));
            check_untouched(&first);
        } else if (!is_active(mix->kinds[at])) {
            CHECK_EMPTY(&first);
        }
        MPI_Wait(&mix->requests[at], &last);
        check_entry(mix, at, &last);
    }
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
static void complete_by_get_status_all(mix_t *mix) {
    MPI_Status statuses[MOST_SLOTS], *used = mix->with_statuses ? statuses : MPI_STATUSES_IGNORE;
    int is_complete = 0;
    while (!is_complete) MPI_Request_get_status_all(mix->slots, mix->requests, &is_complete, used);
    for (int at = 0; at < mix->slots && mix->with_statuses; at++) {
        if (is_receive(mix->kinds[at])) CHECK_STATUS(&statuses[at], left, at, ints_of(at) * (int)sizeof(int));
    }
    complete_all(mix, 0);
}

static void complete_by_get_status_any(mix_t *mix) {
    while (mix->completed < active_slots(mix)) {
        MPI_Status status = marked(), *used = mix->with_statuses ? &status : MPI_STATUS_IGNORE;
        int index = -1, is_complete = 0;
        while (!is_complete) MPI_Request_get_status_any(mix->slots, mix->requests, &index, &is_complete, used);
        CHECK(index >= 0 && index < mix->slots, "completed index is %d", index);
        if (index < 0 || index >= mix->slots) return;
        if (mix->with_statuses && is_receive(mix->kinds[index]))
            CHECK_STATUS(&status, left, index, ints_of(index) * (int)sizeof(int));
        MPI_Wait(&mix->requests[index], &status);
        check_completed(mix, index, &status);
    }
}

static void complete_by_get_status_some(mix_t *mix) {
    while (mix->completed < active_slots(mix)) {
        MPI_Status statuses[MOST_SLOTS], *used = mix->with_statuses ? statuses : MPI_STATUSES_IGNORE;
        int indices[MOST_SLOTS], count = 0;
        while (count == 0) MPI_Request_get_status_some(mix->slots, mix->requests, &count, indices, used);
        CHECK(count > 0 && count <= mix->slots, "count of completed requests is %d", count);
        if (count < 0 || count > mix->slots) return;
        for (int at = 0; at < count; at++) {
            int index = indices[at];
            if (mix->with_statuses && is_receive(mix->kinds[index]))
                CHECK_STATUS(&statuses[at], left, index, ints_of(index) * (int)sizeof(int));
            MPI_Status status;
            MPI_Wait(&mix->requests[index], &status);
            check_completed(mix, index, &status);
        }
    }
}
#endif

typedef struct completer {
    const char *name;
    void (*run)(mix_t *mix);
} completer_t;

static const completer_t completers[] = {
    {"MPI_Wait", complete_by_wait},         {"MPI_Test", complete_by_test},
    {"MPI_Waitall", complete_by_waitall},   {"MPI_Testall", complete_by_testall},
    {"MPI_Waitany", complete_by_waitany},   {"MPI_Testany", complete_by_testany},
    {"MPI_Waitsome", complete_by_waitsome}, {"MPI_Testsome", complete_by_testsome},
    {"MPI_Request_get_status", complete_by_get_status},
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    {"MPI_Request_get_status_all", complete_by_get_status_all},
    {"MPI_Request_get_status_any", complete_by_get_status_any},
    {"MPI_Request_get_status_some", complete_by_get_status_some},
#endif
};
enum { COMPLETERS = sizeof completers / sizeof *completers };

// No message has been sent: no call may report a completed receive.
static void check_incomplete(mix_t *mix) {
    MPI_Status statuses[MOST_SLOTS];
    int indices[MOST_SLOTS], index = -1, count = -1, is_complete = -1;
    if (active_slots(mix) == 0) return;
    for (int at = 0; at < mix->slots; at++) {
        if (!is_receive(mix->kinds[at])) continue;
        MPI_Test(&mix->requests[at], &is_complete, statuses);
        CHECK(!is_complete, "MPI_Test completes slot %d without a message", at);
        MPI_Request_get_status(mix->requests[at], &is_complete, statuses);
        CHECK(!is_complete, "MPI_Request_get_status completes slot %d without a message", at);
    }
    MPI_Testall(mix->slots, mix->requests, &is_complete, statuses);
    CHECK(!is_complete, "MPI_Testall completes without messages");
    MPI_Testany(mix->slots, mix->requests, &index, &is_complete, statuses);
    CHECK(!is_complete && index == MPI_UNDEFINED, "MPI_Testany: flag %d, index %d", is_complete, index);
    MPI_Testsome(mix->slots, mix->requests, &count, indices, statuses);
    CHECK(count == 0, "MPI_Testsome: count %d", count);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    MPI_Request_get_status_all(mix->slots, mix->requests, &is_complete, statuses);
    CHECK(!is_complete, "MPI_Request_get_status_all completes without messages");
    MPI_Request_get_status_any(mix->slots, mix->requests, &index, &is_complete, statuses);
    CHECK(!is_complete && index == MPI_UNDEFINED, "MPI_Request_get_status_any: flag %d, index %d", is_complete, index);
    MPI_Request_get_status_some(mix->slots, mix->requests, &count, indices, statuses);
    CHECK(count == 0, "MPI_Request_get_status_some: count %d", count);
#endif
    CHECK(memcmp(mix->requests, mix->posted, sizeof(MPI_Request) * (size_t)mix->slots) == 0, "requests have changed");
}

// Null and inactive requests only: calls return at once, with empty statuses.
static void check_without_active(int count, MPI_Request *requests) {
    MPI_Status statuses[MOST_SLOTS], status;
    int indices[MOST_SLOTS], index = -1, completed = -1, is_complete = 0;
    MPI_Waitall(count, requests, statuses);
    for (int at = 0; at < count; at++) CHECK_EMPTY(&statuses[at]);
    MPI_Testall(count, requests, &is_complete, statuses);
    CHECK(is_complete, "MPI_Testall: flag 0 without an active request");
    for (int at = 0; at < count; at++) CHECK_EMPTY(&statuses[at]);
    MPI_Waitany(count, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED, "MPI_Waitany: index %d without an active request", index);
    CHECK_EMPTY(&status);
    index = -1, is_complete = 0;
    MPI_Testany(count, requests, &index, &is_complete, &status);
    CHECK(is_complete && index == MPI_UNDEFINED, "MPI_Testany: flag %d, index %d", is_complete, index);
    CHECK_EMPTY(&status);
    MPI_Waitsome(count, requests, &completed, indices, statuses);
    CHECK(completed == MPI_UNDEFINED, "MPI_Waitsome: count %d without an active request", completed);
    completed = -1;
    MPI_Testsome(count, requests, &completed, indices, statuses);
    CHECK(completed == MPI_UNDEFINED, "MPI_Testsome: count %d without an active request", completed);
    for (int at = 0; at < count; at++) {
        MPI_Wait(&requests[at], &status);
        CHECK_EMPTY(&status);
        is_complete = 0;
        MPI_Test(&requests[at], &is_complete, &status);
        CHECK(is_complete, "MPI_Test: flag 0 without an active request");
        CHECK_EMPTY(&status);
        is_complete = 0;
        MPI_Request_get_status(requests[at], &is_complete, &status);
        CHECK(is_complete, "MPI_Request_get_status: flag 0 without an active request");
        CHECK_EMPTY(&status);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(count, requests, &completed, indices, MPI_STATUSES_IGNORE);
}

// Array forms of MPI_Request_get_status need arrays without persistent receives where the library ends those.
static int is_usable(const char *kinds, const completer_t *completer) {
    int is_array_form = strncmp(completer->name, "MPI_Request_get_status_", strlen("MPI_Request_get_status_")) == 0;
    return !(GET_STATUS_ENDS_PERSISTENT && is_array_form && (strchr(kinds, 'p') || strchr(kinds, 'P')));
}

static void run_mix(const char *kinds, const completer_t *completer, int with_statuses) {
    mix_t mix;
    post_mix(&mix, kinds, with_statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strchr(kinds, SEND) || strchr(kinds, QUEUED)) check_incomplete(&mix);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < mix.slots; at++) {
        if (kinds[at] == SEND) start_send(&mix, at);
    }
    send_messages(&mix);
    completer->run(&mix);
    CHECK(mix.completed == active_slots(&mix), "%d of %d requests completed", mix.completed, active_slots(&mix));
    check_without_active(mix.slots, mix.requests);
    MPI_Waitall(mix.slots, mix.peers, MPI_STATUSES_IGNORE);
    for (int at = 0; at < mix.slots; at++) {
        CHECK(kinds[at] != SEND || has_payload(mix.peer_buffers[at], ints_of(at), left, SEND_TAG + at),
              "message of slot %d has wrong data", at);
        if (is_persistent(kinds[at])) MPI_Request_free(&mix.requests[at]);
    }
    empty_queue(MPI_COMM_WORLD, &mix.filler);
}

// One of many queued receives has its message: the call must report its index.
static void check_single_index(int wanted) {
    enum { COUNT = 20 };
    int buffers[COUNT][MOST_INTS], indices[COUNT], index = -1, count = 0, is_complete = 0;
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int turn = 0; turn < 4; turn++) {
        for (int at = 0; at < COUNT; at++) {
            MPI_Irecv(buffers[at], MOST_INTS, MPI_INT, left, at, MPI_COMM_WORLD, &requests[at]);
        }
        send_payload(right, wanted, 2, MPI_COMM_WORLD);
        switch (turn) {
        case 0: MPI_Waitany(COUNT, requests, &index, statuses); break;
        case 1:
            while (!is_complete) MPI_Testany(COUNT, requests, &index, &is_complete, statuses);
            break;
        case 2: MPI_Waitsome(COUNT, requests, &count, indices, statuses); break;
        case 3:
            for (count = 0; count == 0;) MPI_Testsome(COUNT, requests, &count, indices, statuses);
            break;
        }
        if (turn >= 2) index = count == 1 ? indices[0] : -1;
        CHECK(index == wanted, "turn %d: index %d, expected %d", turn, index, wanted);
        CHECK_STATUS(&statuses[0], left, wanted, 8);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int at = 0; at < COUNT; at++) {
            if (at != wanted) send_payload(right, at, 1, MPI_COMM_WORLD);
        }
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

static void check_empty_arrays(void) {
    MPI_Request none[MOST_SLOTS];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < MOST_SLOTS; at++) none[at] = MPI_REQUEST_NULL;
    check_without_active(0, none);
    check_without_active(MOST_SLOTS, none);
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "completion");
    step = "empty and null arrays";
    check_empty_arrays();
    for (int at = 0; at < COMPLETERS; at++) {
        step = completers[at].name;
        for (int array = 0; array < ARRAYS; array++) {
            if (!is_usable(arrays[array], &completers[at])) continue;
            run_mix(arrays[array], &completers[at], 1);
            run_mix(arrays[array], &completers[at], 0);
        }
    }
    if (GET_STATUS_ENDS_PERSISTENT)
        report_skip("repeated MPI_Request_get_status of a persistent request", "the library makes the request inactive");
    step = "index";
    check_single_index(0), check_single_index(7), check_single_index(19);
    return finish();
}
