/* Starting, completing, cancelling and freeing requests (MPI-4.1 §3.7.3 to 3.9).
 *
 * While no receive has a record, calls go to the library unchanged. Otherwise the library gets a copy of the request
 * array that contains its own requests instead of the program's handles. A receive without a library request is
 * MPI_REQUEST_NULL in the copy. */

static inline long count_live(int count, const MPI_Request requests[])
{
    long live = 0;
    for (int i = 0; i < count; i++)
        live += requests[i] != library.request_null;
    return live;
}

CALL(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
{
    if (LIKELY(!hot_state.translates_requests)) {
        uncount(*request != library.request_null);
        return REAL(Wait)(request, status);
    }
    return complete_receive(request, status);
}

static __attribute__((noinline)) int test_slowly(MPI_Request *request, int *flag, MPI_Status *status)
{
    lock();
    struct receive *receive = find_receive(*request);
    int result = MPI_SUCCESS;
    *flag = 0;
    if (hot_state.needs_progress || (receive != NULL && receive->state == RECEIVE_QUEUED))
        make_progress(receive);
    if (receive == NULL) {
        bool live = *request != library.request_null;
        result = REAL(Test)(request, flag, status);
        uncount(live && *flag);
    } else if (!is_pending(receive)) {
        MPI_Request *native = native_of(receive);
        bool native_started = receive->state == RECEIVE_NATIVE;
        result = update_request(receive, request, REAL(Test)(native, flag, status));
        if (native_started && *flag) {
            receive->state = RECEIVE_IDLE;
            uncount(1);
        }
    }
    unlock();
    return result;
}

CALL(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
{
    if (!LIKELY(!hot_state.translates_requests))
        return test_slowly(request, flag, status);
    bool live = *request != library.request_null;
    int result = REAL(Test)(request, flag, status);
    uncount(live && *flag);
    return result;
}

CALL(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))
{
    if (LIKELY(!hot_state.translates_requests))
        return REAL(Request_get_status)(request, flag, status);
    lock();
    struct receive *receive = find_receive(request);
    int result = MPI_SUCCESS;
    *flag = 0;
    if (hot_state.needs_progress || (receive != NULL && receive->state == RECEIVE_QUEUED))
        make_progress(receive);
    if (receive == NULL)
        result = REAL(Request_get_status)(request, flag, status);
    else if (!is_pending(receive))
        result = REAL(Request_get_status)(*native_of(receive), flag, status);
    unlock();
    return result;
}

/* A request array in the library's form. */
#define VIEW_SMALL 32
struct view {
    int count;
    long pending; /* receives without a library request */
    MPI_Request *natives;
    struct receive **owners; /* NULL: a request of the library */
    bool *is_left_out;       /* pending when the library got the array */
    MPI_Request small_natives[VIEW_SMALL];
    struct receive *small_owners[VIEW_SMALL];
    bool small_left_out[VIEW_SMALL];
};

/* Updates receives that had no library request. */
static void update_view(struct view *view, const MPI_Request requests[])
{
    view->pending = 0;
    for (int i = 0; i < view->count; i++) {
        struct receive *owner = view->owners[i];
        view->is_left_out[i] = owner != NULL && is_pending(owner);
        if (owner == NULL) {
            view->natives[i] = requests[i];
        } else if (view->is_left_out[i]) {
            view->natives[i] = library.request_null;
            view->pending++;
        } else {
            view->natives[i] = *native_of(owner);
        }
    }
}

/* False: no memory. */
static bool open_view(struct view *view, int count, const MPI_Request requests[])
{
    view->count = count > 0 ? count : 0;
    view->natives = view->small_natives;
    view->owners = view->small_owners;
    view->is_left_out = view->small_left_out;
    if (count > VIEW_SMALL) {
        char *memory = malloc((size_t)count * (sizeof *view->natives + sizeof *view->owners + sizeof(bool)));
        if (memory == NULL)
            return false;
        view->owners = (struct receive **)(void *)memory;
        view->natives = (MPI_Request *)(void *)(view->owners + count);
        view->is_left_out = (bool *)(view->natives + count);
    }
    for (int i = 0; i < view->count; i++)
        view->owners[i] = find_receive(requests[i]);
    return true;
}

static void free_view(struct view *view)
{
    if (view->owners != view->small_owners)
        free(view->owners);
}

/* Updates one element after a call that may have completed it. */
static int update_element(struct view *view, int at, MPI_Request requests[], int result)
{
    struct receive *owner = view->owners[at];
    if (owner == NULL) {
        requests[at] = view->natives[at];
        return result;
    }
    if (view->is_left_out[at] || owner->state != RECEIVE_STARTED)
        return result;
    owner->inner = view->natives[at];
    return update_request(owner, &requests[at], result);
}

static int update_requests(struct view *view, MPI_Request requests[], int result)
{
    for (int i = 0; i < view->count; i++)
        result = update_element(view, i, requests, result);
    return result;
}

/* Updates the counts for a completed element. */
static void uncount_element(struct view *view, int at)
{
    struct receive *owner = view->owners[at];
    if (owner != NULL && owner->state == RECEIVE_NATIVE)
        owner->state = RECEIVE_IDLE;
    else if (owner != NULL)
        return;
    uncount(1);
}

static int no_memory(void)
{
    unlock();
    return MPI_ERR_NO_MEM;
}

/* Open MPI's MPI_Waitall returns at the first failed request, other libraries wait for all requests. With Open MPI, the
 * shim looks from time to time for requests that may have failed. */
#if defined(OPEN_MPI)
#define RETURNS_AT_ERROR true
#else
#define RETURNS_AT_ERROR false
#endif
#define CHECK_NS 200000000.0
#define POLLS_PER_CHECK 256

/* Returns whether a request may have failed: a truncated receive of the engine, or a complete request of the library.
 * Open MPI does not show the error of a complete request before its completion call. */
static bool may_have_failed(const struct view *view, const MPI_Request requests[])
{
    for (int i = 0; i < view->count; i++) {
        const struct receive *owner = view->owners[i];
        int flag = 0;
        if (owner == NULL || owner->state == RECEIVE_NATIVE)
            REAL(Request_get_status)(requests[i], &flag, MPI_STATUS_IGNORE);
        if (owner != NULL ? owner->is_truncated || flag : flag && requests[i] != library.request_null)
            return true;
    }
    return false;
}

/* Called after a poll of MPI_Waitall. If a request may have failed, the library's MPI_Waitall gets all receives. */
static void poll_again(const struct view *view, const MPI_Request requests[], uint64_t *checked, unsigned *polls)
{
    if (RETURNS_AT_ERROR && ++*polls % POLLS_PER_CHECK == 0 &&
        (double)(ticks() - *checked) > CHECK_NS * overflow.ticks_per_ns) {
        *checked = ticks();
        if (may_have_failed(view, requests))
            give_back_all();
    }
    relax();
}

/* Waits until the library has a request for each receive. While the engine has receives, also waits until each
 * request is complete. Returns whether all requests were complete before. */
static bool wait_for_view(struct view *view, const MPI_Request requests[])
{
    uint64_t checked = ticks();
    unsigned polls = 0;
    bool were_complete = true;
    for (int i = 0; i < view->count; i++) {
        struct receive *owner = view->owners[i];
        while (owner != NULL && is_pending(owner)) {
            were_complete = false;
            make_progress(owner);
            if (is_pending(owner))
                poll_again(view, requests, &checked, &polls);
        }
    }
    update_view(view, requests);
    for (int i = 0; i < view->count; i++) {
        struct receive *owner = view->owners[i];
        /* In MPICH 4.1 and later, a status query makes a complete persistent request inactive. */
        bool is_waited_for = view->natives[i] != library.request_null && (owner == NULL || !owner->is_persistent);
        int flag = !is_waited_for;
        while (hot_state.needs_progress && !flag) {
            if (REAL(Request_get_status)(view->natives[i], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag)
                break;
            were_complete = false;
            make_progress(NULL);
            poll_again(view, requests, &checked, &polls);
        }
    }
    return were_complete;
}

/* Calls MPI_Waitall for a view. Without statuses, Open MPI 5.0 returns MPI_SUCCESS and keeps failed requests if all
 * requests were complete before the call. The program's call must report errors unless the requests `were_complete`
 * when it began. */
static int wait_all(struct view *view, bool were_complete, MPI_Status statuses[])
{
    MPI_Status small[VIEW_SMALL], *own = NULL;
    if (RETURNS_AT_ERROR && !were_complete && statuses == MPI_STATUSES_IGNORE)
        own = view->count > VIEW_SMALL ? malloc((size_t)view->count * sizeof *own) : small;
    int result = REAL(Waitall)(view->count, view->natives, own != NULL ? own : statuses);
    if (own != small)
        free(own);
    return result;
}

static __attribute__((noinline)) int waitall_slowly(int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct view view;
    lock();
    if (!open_view(&view, count, requests))
        return no_memory();
    bool were_complete = wait_for_view(&view, requests);
    bool has_persistent = false;
    for (int i = 0; i < view.count && hot_state.needs_progress; i++)
        has_persistent |= view.owners[i] != NULL && view.owners[i]->is_persistent;
    int flag = 0, result = MPI_SUCCESS;
    while (has_persistent && hot_state.needs_progress && !flag && result == MPI_SUCCESS) {
        result = REAL(Testall)(view.count, view.natives, &flag, statuses);
        if (!flag && result == MPI_SUCCESS) {
            make_progress(NULL);
            relax();
        }
    }
    if (!flag && result == MPI_SUCCESS)
        result = wait_all(&view, were_complete, statuses);
    for (int i = 0; i < view.count; i++) {
        bool is_left = result != MPI_SUCCESS && (view.owners[i] != NULL || view.natives[i] != library.request_null);
        if (requests[i] != library.request_null && !is_left)
            uncount_element(&view, i);
    }
    result = update_requests(&view, requests, result);
    free_view(&view);
    unlock();
    return result;
}

CALL(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses))
{
    if (LIKELY(!hot_state.translates_requests)) {
        uncount(count_live(count, requests));
        return REAL(Waitall)(count, requests, statuses);
    }
    return waitall_slowly(count, requests, statuses);
}

/* Tests any, some or all requests. `waits`: repeats until a request completes. `completes`: MPI_Test…, not
 * MPI_Request_get_status…, which leaves requests unchanged. */
static __attribute__((noinline)) int testall_slowly(__typeof__(&MPI_Testall) real, bool completes, int count,
                                                    MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct view view;
    int result = MPI_SUCCESS;
    lock();
    if (!open_view(&view, count, requests))
        return no_memory();
    *flag = 0;
    if (hot_state.needs_progress)
        make_progress(NULL);
    update_view(&view, requests);
    if (view.pending == 0) {
        long live = count_live(view.count, view.natives);
        result = real(view.count, view.natives, flag, statuses);
        for (int i = 0; i < view.count && live > 0 && *flag && completes; i++)
            if (requests[i] != library.request_null)
                uncount_element(&view, i);
        if (completes)
            result = update_requests(&view, requests, result);
    }
    free_view(&view);
    unlock();
    return result;
}

/* Returns whether the library's blocking call is sufficient: no request depends on the engine, or none is active. */
static bool may_block(const struct view *view)
{
    return view->pending == 0 && (!hot_state.needs_progress || count_live(view->count, view->natives) == 0);
}

static __attribute__((noinline)) int testany_slowly(__typeof__(&MPI_Testany) real, bool completes, bool waits, int count,
                                                    MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct view view;
    int result = MPI_SUCCESS;
    lock();
    if (!open_view(&view, count, requests))
        return no_memory();
    do {
        if (hot_state.needs_progress)
            make_progress(NULL);
        update_view(&view, requests);
        *flag = 0;
        *index = MPI_UNDEFINED;
        MPI_Status own, *reported = view.pending > 0 && status != MPI_STATUS_IGNORE ? &own : status;
        if (waits && may_block(&view)) {
            *flag = 1;
            result = REAL(Waitany)(view.count, view.natives, index, status);
        } else {
            result = real(view.count, view.natives, index, flag, reported);
        }
        if (*index == MPI_UNDEFINED && view.pending > 0)
            *flag = 0; /* the library got no active request */
        else if (*index == MPI_UNDEFINED && *flag && waits) /* none active; MPICH 4.0 tests without writing the status */
            result = REAL(Waitany)(view.count, view.natives, index, status);
        else if (*flag && reported != status)
            copy_status(status, &own);
        if (completes && result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
            uncount_element(&view, *index);
        if (completes)
            result = update_requests(&view, requests, result);
        if (waits && !*flag && result == MPI_SUCCESS)
            relax();
    } while (waits && !*flag && result == MPI_SUCCESS);
    free_view(&view);
    unlock();
    return result;
}

static __attribute__((noinline)) int testsome_slowly(__typeof__(&MPI_Testsome) real, bool completes, bool waits, int count,
                                                     MPI_Request requests[], int *outcount, int indices[],
                                                     MPI_Status statuses[])
{
    struct view view;
    int result = MPI_SUCCESS;
    lock();
    if (!open_view(&view, count, requests))
        return no_memory();
    do {
        if (hot_state.needs_progress)
            make_progress(NULL);
        update_view(&view, requests);
        *outcount = 0;
        if (waits && may_block(&view))
            result = REAL(Waitsome)(view.count, view.natives, outcount, indices, statuses);
        else
            result = real(view.count, view.natives, outcount, indices, statuses);
        if (*outcount == MPI_UNDEFINED && view.pending > 0)
            *outcount = 0;
        for (int i = 0; i < *outcount && completes && *outcount != MPI_UNDEFINED; i++)
            uncount_element(&view, indices[i]);
        if (completes)
            result = update_requests(&view, requests, result);
        if (waits && *outcount == 0 && result == MPI_SUCCESS)
            relax();
    } while (waits && *outcount == 0 && result == MPI_SUCCESS);
    free_view(&view);
    unlock();
    return result;
}

CALL(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]), (count, requests, flag, statuses))
{
    if (!LIKELY(!hot_state.translates_requests))
        return testall_slowly(REAL(Testall), true, count, requests, flag, statuses);
    long live = count_live(count, requests);
    int result = REAL(Testall)(count, requests, flag, statuses);
    uncount(*flag ? live : 0);
    return result;
}

CALL(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status))
{
    if (!LIKELY(!hot_state.translates_requests))
        return testany_slowly(REAL(Testany), true, false, count, requests, index, flag, status);
    int result = REAL(Testany)(count, requests, index, flag, status);
    uncount(*flag && *index != MPI_UNDEFINED);
    return result;
}

CALL(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status), (count, requests, index, status))
{
    int flag;
    if (!LIKELY(!hot_state.translates_requests))
        return testany_slowly(REAL(Testany), true, true, count, requests, index, &flag, status);
    int result = REAL(Waitany)(count, requests, index, status);
    uncount(*index != MPI_UNDEFINED);
    return result;
}

CALL(Testsome, (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
     (count, requests, outcount, indices, statuses))
{
    if (!LIKELY(!hot_state.translates_requests))
        return testsome_slowly(REAL(Testsome), true, false, count, requests, outcount, indices, statuses);
    int result = REAL(Testsome)(count, requests, outcount, indices, statuses);
    uncount(*outcount == MPI_UNDEFINED ? 0 : *outcount);
    return result;
}

CALL(Waitsome, (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
     (count, requests, outcount, indices, statuses))
{
    if (!LIKELY(!hot_state.translates_requests))
        return testsome_slowly(REAL(Testsome), true, true, count, requests, outcount, indices, statuses);
    int result = REAL(Waitsome)(count, requests, outcount, indices, statuses);
    uncount(*outcount == MPI_UNDEFINED ? 0 : *outcount);
    return result;
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
CALL(Request_get_status_all, (int count, const MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (count, requests, flag, statuses))
{
    if (LIKELY(!hot_state.translates_requests))
        return REAL(Request_get_status_all)(count, requests, flag, statuses);
    return testall_slowly((__typeof__(&MPI_Testall))function_Request_get_status_all.real, false, count,
                          (MPI_Request *)requests, flag, statuses);
}

CALL(Request_get_status_any, (int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status))
{
    if (LIKELY(!hot_state.translates_requests))
        return REAL(Request_get_status_any)(count, requests, index, flag, status);
    return testany_slowly((__typeof__(&MPI_Testany))function_Request_get_status_any.real, false, false, count,
                          (MPI_Request *)requests, index, flag, status);
}

CALL(Request_get_status_some, (int count, const MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
     (count, requests, outcount, indices, statuses))
{
    if (LIKELY(!hot_state.translates_requests))
        return REAL(Request_get_status_some)(count, requests, outcount, indices, statuses);
    return testsome_slowly((__typeof__(&MPI_Testsome))function_Request_get_status_some.real, false, false, count,
                           (MPI_Request *)requests, outcount, indices, statuses);
}
#endif

/* Starts a persistent receive at its destination, with the lock held. */
static int start_persistent(struct receive *receive)
{
    struct communicator *communicator = receive->communicator;
    struct message *message;
    hot_state.receives++;
    if (receive->state == RECEIVE_NATIVE) /* started in the library, and inactive again */
        receive->state = RECEIVE_IDLE;
    if (overflow.core == NULL || receive->state != RECEIVE_IDLE)
        return REAL(Start)(&receive->handle);
    receive->is_blocking = is_sender_blocking(receive->bytes);
    enum destination destination = choose_destination(communicator, receive->source, receive->tag, &message);
    if (destination == TO_MESSAGE) {
        overflow.counts.overflowed++;
        receive->state = RECEIVE_STARTED;
        receive->inner = library.request_null;
        receive->error =
            library_imrecv(receive->buffer, receive->count, receive->type, &message->handle, &receive->inner);
        return_message(message);
        overflow.active++;
        set_paths();
        return MPI_SUCCESS;
    }
    if (destination == TO_ENGINE && !(overflow.blocked_threads > 0 && receive->is_blocking) && queue_receive(receive)) {
        overflow.counts.overflowed++;
        return MPI_SUCCESS;
    }
    if (destination == TO_ENGINE)
        give_back_all();
    int result = REAL(Start)(&receive->handle);
    if (result == MPI_SUCCESS) {
        receive->state = RECEIVE_NATIVE;
        count_receive(receive->source);
    }
    return result;
}

static int start_one(MPI_Request *request)
{
    struct receive *receive = find_receive(*request);
    if (receive != NULL && receive->is_persistent)
        return start_persistent(receive);
    count_request();
    return REAL(Start)(request);
}

CALL(Start, (MPI_Request * request), (request))
{
    lock();
    int result = start_one(request);
    unlock();
    return result;
}

CALL(Startall, (int count, MPI_Request requests[]), (count, requests))
{
    int result = MPI_SUCCESS;
    lock();
    if (map.used == 0) {
        add_native(count > 0 ? count : 0);
        result = REAL(Startall)(count, requests);
    } else {
        for (int i = 0; i < count && result == MPI_SUCCESS; i++)
            result = start_one(&requests[i]);
    }
    unlock();
    return result;
}

/* The receive becomes a cancelled, complete generalized request. */
static int cancel_queued(struct receive *receive)
{
    unqueue(receive);
    int result = make_handle(&receive->inner);
    return result != MPI_SUCCESS ? result : REAL(Grequest_complete)(receive->inner);
}

CALL(Cancel, (MPI_Request * request), (request))
{
    if (LIKELY(!hot_state.translates_requests))
        return REAL(Cancel)(request);
    lock();
    struct receive *receive = find_receive(*request);
    int result = MPI_SUCCESS;
    if (receive == NULL || receive->state == RECEIVE_IDLE || receive->state == RECEIVE_NATIVE)
        result = REAL(Cancel)(request);
    else if (receive->pair != NULL)
        result = MPI_ERR_REQUEST; /* a combined request cannot be cancelled (MPI-4.1 §3.10) */
    else if (receive->state == RECEIVE_QUEUED && cancel_in_engine(receive))
        result = cancel_queued(receive);
    else if (receive->is_counted) /* given back: may still be unmatched */
        result = REAL(Cancel)(&receive->inner);
    unlock();
    return result;
}

static void release_communicator(struct communicator *communicator);

/* The receive continues without its request (MPI-4.1 §3.7.3). */
static int free_receive(struct receive *receive, MPI_Request *request)
{
    MPI_Request handle = receive->handle;
    int result = MPI_SUCCESS;
    *request = library.request_null;
    if (receive->pair != NULL)
        wait_while_pending(receive);
    /* A collective call may show the program that the message was received, but the engine makes no progress in it. */
    if (receive->state == RECEIVE_QUEUED)
        give_back_all();
    bool is_active = receive->state == RECEIVE_QUEUED || receive->state == RECEIVE_STARTED;
    if (receive->is_persistent) {
        struct communicator *communicator = receive->communicator;
        map_remove(receive);
        if (--communicator->persistent == 0 && communicator->is_freed && overflow.core != NULL)
            release_communicator(communicator);
        if (receive->is_derived && receive->state != RECEIVE_STARTED)
            REAL(Type_free)(&receive->type);
        result = REAL(Request_free)(&handle);
        if (!is_active)
            free(receive);
    }
    if (is_active) {
        receive->is_released = true;
        if (receive->state == RECEIVE_STARTED)
            start_released(receive);
    }
    return result;
}

CALL(Request_free, (MPI_Request * request), (request))
{
    struct receive *receive;
    int result;
    lock();
    if (map.used > 0 && (receive = find_receive(*request)) != NULL) {
        result = free_receive(receive, request);
    } else {
        uncount(1);
        result = REAL(Request_free)(request);
    }
    unlock();
    return result;
}
