/* Starting, completing, cancelling and freeing requests (MPI-4.1 §3.7.3 to 3.9).
 *
 * Requests are copied into the record before the call, which replaces completed ones. The head of the record is
 * written afterwards. A call without completions does not record which of several requests it tested: applications
 * poll, and the next call with a completion records them. A call for any or some of several requests records only
 * the completed requests: a loop of n such calls would otherwise record n² requests. */

/* Reserves a record for this number of requests and completions, and fills in the requests. */
static inline uint64_t *begin_requests(struct lane *lane, size_t count, const MPI_Request requests[], size_t completions)
{
    uint64_t *record = reserve(lane, WORD_FIELDS + 2 + count + 3 * completions);
    if (record == NULL)
        return NULL;
    record[WORD_FIELDS] = count;
    for (size_t i = 0; i < count; i++)
        record[WORD_FIELDS + 1 + i] = request_word(requests[i]);
    return record;
}

/* Returns whether the record is at the position of the next record. Calls on another stack of the thread, as in
 * libraries of user-level threads, may have replaced it. */
static inline bool is_in_place(struct lane *lane, const uint64_t *record)
{
    bool there = record == lane->words + written(lane) % LANE_WORDS || record == lane->outside;
    if (__builtin_expect(!there, 0))
        atomic_fetch_add(&calls_unseen, 1);
    return there;
}

static inline uint64_t *put_completion(uint64_t *at, size_t index, const MPI_Status *status)
{
    at[0] = index;
    if (status->MPI_SOURCE == STATUS_UNWRITTEN)
        put_no_status(at + 1);
    else
        put_status_words(at + 1, status);
    return at + 3;
}

static uint64_t *put_completion_alone(uint64_t *at, size_t index)
{
    at[0] = index;
    put_no_status(at + 1);
    return at + 3;
}

static inline void finish_requests(struct lane *lane, uint64_t *record, uint64_t code, uint64_t entered, uint64_t left,
                                   uint64_t *completions, const uint64_t *end)
{
    record[WORD_HEAD] = code;
    record[WORD_ENTER] = entered;
    record[WORD_LEAVE] = left;
    *completions = (uint64_t)(end - completions - 1) / 3;
    uint64_t count = record[WORD_FIELDS];
    if (*completions == 0 && count > 1) {
        record[WORD_FIELDS] = 0;
        record[WORD_FIELDS + 1] = 0;
        end = record + WORD_FIELDS + 2;
    }
    commit(lane, record, (uint64_t)(end - record));
}

static inline bool tells(int result)
{
    return !FAILED(result) || result == MPI_ERR_IN_STATUS;
}

/* A failed call on one request: the request completed if it is now null, or if its receive was truncated. */
static __attribute__((cold, noinline)) uint64_t *put_failed(uint64_t *end, int result, MPI_Request request,
                                                            const MPI_Status *reported)
{
    if (error_class(result) == MPI_ERR_TRUNCATE)
        return put_completion(end, 0, reported);
    return request == library.request_null ? put_completion_alone(end, 0) : end;
}

/* A failed call on several requests: those that are now null completed, and those with a reported status. */
static __attribute__((cold, noinline)) uint64_t *put_failed_all(uint64_t *end, const uint64_t *record,
                                                                const MPI_Request requests[], const MPI_Status *reported)
{
    for (size_t i = 0; i < record[WORD_FIELDS]; i++) {
        if (record[WORD_FIELDS + 1 + i] == 0)
            continue;
        int class = reported != NULL ? error_class(reported[i].MPI_ERROR) : MPI_ERR_PENDING;
        if (class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE)
            end = put_completion(end, i, &reported[i]);
        else if (class != MPI_ERR_PENDING || requests[i] == library.request_null)
            end = put_completion_alone(end, i);
    }
    return end;
}

/* A call for any or some of several requests, and its completed requests. */
struct several {
    uint64_t *record;
    size_t count, most;      /* requests; limit of requests in the record */
    const MPI_Request *kept; /* the requests before the call, after the record's maximum length */
    size_t found;
};

static inline struct several keep_requests(struct lane *lane, size_t count, const MPI_Request requests[], size_t most)
{
    size_t words = WORD_FIELDS + 2 + 4 * most;
    struct several several = {.count = count, .most = most};
    several.record = reserve(lane, words + (count * sizeof *requests + 7) / 8);
    if (several.record != NULL && count > 0)
        several.kept = memcpy(several.record + words, requests, count * sizeof *requests);
    return several;
}

static inline void put_found(struct several *several, size_t index, const MPI_Status *status)
{
    if (index >= several->count || several->found == several->most)
        return;
    uint64_t *named = several->record + WORD_FIELDS + 1, *completion = named + several->most + 1 + 3 * several->found;
    named[several->found] = request_word(several->kept[index]);
    if (status != NULL)
        put_completion(completion, several->found, status);
    else
        put_completion_alone(completion, several->found);
    several->found++;
}

/* After a failed call, the requests that are now null have completed (MPI-4.1 §3.7.5). */
static __attribute__((cold, noinline)) void put_null_requests(struct several *several, const MPI_Request requests[])
{
    for (size_t i = 0; i < several->count; i++)
        if (several->kept[i] != library.request_null && requests[i] == library.request_null)
            put_found(several, i, NULL);
}

/* A failed call for any request: the request that is now null, or the reported index. */
static __attribute__((cold, noinline)) void put_failed_any(struct several *several, int result, const MPI_Request requests[],
                                                           int index)
{
    put_null_requests(several, requests);
    if (index >= 0 && error_class(result) == MPI_ERR_TRUNCATE)
        put_found(several, (size_t)index, NULL);
}

static inline void finish_several(struct lane *lane, const struct several *several, uint64_t code, uint64_t entered,
                                  uint64_t left)
{
    uint64_t *record = several->record, *completions = record + WORD_FIELDS + 1 + several->found;
    record[WORD_HEAD] = code;
    record[WORD_ENTER] = entered;
    record[WORD_LEAVE] = left;
    record[WORD_FIELDS] = *completions = several->found;
    memmove(completions + 1, record + WORD_FIELDS + 2 + several->most, 3 * several->found * sizeof *record);
    commit(lane, record, WORD_FIELDS + 2 + 4 * several->found);
}

CALL(Wait, "QC", (MPI_Request * request, MPI_Status *status), (request, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Wait)(request, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? mark_unwritten(&own) : status;
    uint64_t *record = begin_requests(lane, 1, request, 1);
    uint64_t entered = ticks();
    int result = REAL(Wait)(request, reported);
    uint64_t left = ticks();
    if (record != NULL && is_in_place(lane, record)) {
        uint64_t *completions = record + WORD_FIELDS + 2, *end = completions + 1;
        if (record[WORD_FIELDS + 1] != 0)
            end = FAILED(result) ? put_failed(end, result, *request, reported) : put_completion(end, 0, reported);
        finish_requests(lane, record, CODE(Wait), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Test, "QC", (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Test)(request, flag, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? mark_unwritten(&own) : status;
    uint64_t *record = begin_requests(lane, 1, request, 1);
    uint64_t entered = ticks();
    int result = REAL(Test)(request, flag, reported);
    uint64_t left = ticks();
    if (record != NULL && is_in_place(lane, record)) {
        uint64_t *completions = record + WORD_FIELDS + 2, *end = completions + 1;
        if (record[WORD_FIELDS + 1] != 0 && (FAILED(result) || *flag))
            end = FAILED(result) ? put_failed(end, result, *request, reported) : put_completion(end, 0, reported);
        finish_requests(lane, record, CODE(Test), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Request_get_status, "QC", (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Request_get_status)(request, flag, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? mark_unwritten(&own) : status;
    uint64_t *record = begin_requests(lane, 1, &request, 1);
    uint64_t entered = ticks();
    int result = REAL(Request_get_status)(request, flag, reported);
    uint64_t left = ticks();
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Request_get_status), entered, result);
    if (record != NULL && is_in_place(lane, record)) {
        uint64_t *completions = record + WORD_FIELDS + 2, *end = completions + 1;
        if (record[WORD_FIELDS + 1] != 0 && *flag)
            end = put_completion(end, 0, reported);
        finish_requests(lane, record, CODE(Request_get_status), entered, left, completions, end);
    }
    return leave(lane, result);
}

static uint64_t *put_all(uint64_t *end, const uint64_t *record, size_t count, const MPI_Status *reported)
{
    for (size_t i = 0; i < count; i++)
        if (record[WORD_FIELDS + 1 + i] != 0)
            end = reported != NULL ? put_completion(end, i, &reported[i]) : put_completion_alone(end, i);
    return end;
}

#if defined(OPEN_MPI)
#define MAY_LEAVE_REQUESTS false
#else
/* MPICH waits for all requests if statuses are ignored, otherwise it returns at the first error. The recorder always
 * passes statuses. If the application ignores them, the recorder waits for the remaining requests. */
#define MAY_LEAVE_REQUESTS true
#endif

static __attribute__((cold, noinline)) bool has_active(int count, const MPI_Request requests[])
{
    for (int i = 0; i < count; i++)
        if (requests[i] != library.request_null)
            return true;
    return false;
}

CALL(Waitall, "QC", (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Waitall)(count, requests, statuses);
    size_t several = count > 0 ? (size_t)count : 0;
    MPI_Status *reported = statuses == MPI_STATUSES_IGNORE ? statuses_of_lane(lane, several) : statuses;
    uint64_t *record = begin_requests(lane, several, requests, several);
    uint64_t entered = ticks();
    int result = REAL(Waitall)(count, requests, reported != NULL ? reported : statuses);
    if (FAILED(result) && MAY_LEAVE_REQUESTS && reported != statuses && has_active(count, requests))
        REAL(Waitall)(count, requests, statuses);
    uint64_t left = ticks();
    if (record != NULL && is_in_place(lane, record)) {
        uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;
        end = FAILED(result) ? put_failed_all(end, record, requests, tells(result) ? reported : NULL)
                             : put_all(end, record, several, reported);
        finish_requests(lane, record, CODE(Waitall), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Waitany, "QC", (int count, MPI_Request requests[], int *index, MPI_Status *status), (count, requests, index, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Waitany)(count, requests, index, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? mark_unwritten(&own) : status;
    struct several several = keep_requests(lane, count > 0 ? (size_t)count : 0, requests, 1);
    uint64_t entered = ticks();
    int result = REAL(Waitany)(count, requests, index, reported);
    uint64_t left = ticks();
    if (several.record != NULL && is_in_place(lane, several.record)) {
        if (FAILED(result))
            put_failed_any(&several, result, requests, *index);
        else if (*index != MPI_UNDEFINED)
            put_found(&several, (size_t)*index, reported);
        finish_several(lane, &several, CODE(Waitany), entered, left);
    }
    return leave(lane, result);
}

/* MPI_Request_get_status… tests like MPI_Test…, but completes no request. A failed call has no result, and requests
 * stay unchanged (MPI-4.1 §3.7.6). `COMPLETES` selects MPI_Test…. */
#define ALL_OF(NAME, CONST, COMPLETES)                                                                   \
    CALL(NAME, "QC", (int count, CONST MPI_Request requests[], int *flag, MPI_Status statuses[]),        \
         (count, requests, flag, statuses))                                                              \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(count, requests, flag, statuses);                                          \
        size_t several = count > 0 ? (size_t)count : 0;                                                  \
        MPI_Status *reported = statuses == MPI_STATUSES_IGNORE ? statuses_of_lane(lane, several) : statuses; \
        uint64_t *record = begin_requests(lane, several, requests, several);                             \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(count, requests, flag, reported != NULL ? reported : statuses);          \
        uint64_t left = ticks();                                                                         \
        if (!COMPLETES && FAILED(result)) {                                                              \
            abandon(lane, record);                                                                       \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        }                                                                                                \
        if (record != NULL && is_in_place(lane, record)) {                                               \
            uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;          \
            if (FAILED(result))                                                                          \
                end = put_failed_all(end, record, requests, tells(result) && *flag ? reported : NULL);   \
            else if (*flag)                                                                              \
                end = put_all(end, record, several, reported);                                           \
            finish_requests(lane, record, CODE(NAME), entered, left, completions, end);                  \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

#define ANY_OF(NAME, CONST, COMPLETES)                                                                   \
    CALL(NAME, "QC", (int count, CONST MPI_Request requests[], int *index, int *flag, MPI_Status *status), \
         (count, requests, index, flag, status))                                                         \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(count, requests, index, flag, status);                                     \
        MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? mark_unwritten(&own) : status;         \
        struct several several = keep_requests(lane, count > 0 ? (size_t)count : 0, requests, 1);        \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(count, requests, index, flag, reported);                                 \
        uint64_t left = ticks();                                                                         \
        if (!COMPLETES && FAILED(result)) {                                                              \
            abandon(lane, several.record);                                                               \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        }                                                                                                \
        if (several.record != NULL && is_in_place(lane, several.record)) {                               \
            if (FAILED(result))                                                                          \
                put_failed_any(&several, result, requests, *index);                                      \
            else if (*flag && *index != MPI_UNDEFINED)                                                   \
                put_found(&several, (size_t)*index, reported);                                           \
            finish_several(lane, &several, CODE(NAME), entered, left);                                   \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

#define SOME_OF(NAME, CONST, COMPLETES)                                                                  \
    CALL(NAME, "QC", (int count, CONST MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]), \
         (count, requests, outcount, indices, statuses))                                                 \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(count, requests, outcount, indices, statuses);                             \
        size_t most = count > 0 ? (size_t)count : 0;                                                     \
        MPI_Status *reported = statuses == MPI_STATUSES_IGNORE ? statuses_of_lane(lane, most) : statuses; \
        struct several several = keep_requests(lane, most, requests, most);                              \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(count, requests, outcount, indices, reported != NULL ? reported : statuses); \
        uint64_t left = ticks();                                                                         \
        if (!COMPLETES && FAILED(result)) {                                                              \
            abandon(lane, several.record);                                                               \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        }                                                                                                \
        if (several.record != NULL && is_in_place(lane, several.record)) {                               \
            if (!tells(result))                                                                          \
                put_null_requests(&several, requests);                                                   \
            else if (*outcount != MPI_UNDEFINED)                                                         \
                for (int i = 0; i < *outcount; i++)                                                      \
                    put_found(&several, (size_t)indices[i], reported != NULL ? &reported[i] : NULL);     \
            finish_several(lane, &several, CODE(NAME), entered, left);                                   \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

ALL_OF(Testall, , true)
ANY_OF(Testany, , true)
SOME_OF(Waitsome, , true)
SOME_OF(Testsome, , true)

/* Records calls that have requests and complete none. */
static inline int put_requests(struct lane *lane, uint64_t code, uint64_t code_failed, uint64_t entered, size_t count,
                               uint64_t *record, int result)
{
    if (FAILED(result)) {
        abandon(lane, record);
        return failed(lane, code_failed, entered, result);
    }
    if (record != NULL && is_in_place(lane, record)) {
        record[WORD_HEAD] = code;
        record[WORD_ENTER] = entered;
        record[WORD_LEAVE] = ticks();
        commit(lane, record, WORD_FIELDS + 1 + count);
    }
    return leave(lane, result);
}

#define ONE_REQUEST(NAME)                                                                                \
    CALL(NAME, "Q", (MPI_Request * request), (request))                                                  \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(request);                                                                  \
        uint64_t *record = begin_requests(lane, 1, request, 0);                                          \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(request);                                                                \
        return put_requests(lane, CODE(NAME), CODE_FAILED(NAME), entered, 1, record, result);            \
    }

ONE_REQUEST(Start)
ONE_REQUEST(Request_free)

CALL(Cancel, "Q", (MPI_Request * request), (request))
{
    atomic_store_explicit(&hot_state.anything_cancelled, true, memory_order_relaxed);
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Cancel)(request);
    uint64_t *record = begin_requests(lane, 1, request, 0);
    uint64_t entered = ticks();
    int result = REAL(Cancel)(request);
    return put_requests(lane, CODE(Cancel), CODE_FAILED(Cancel), entered, 1, record, result);
}

CALL(Startall, "Q", (int count, MPI_Request requests[]), (count, requests))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Startall)(count, requests);
    size_t several = count > 0 ? (size_t)count : 0;
    uint64_t *record = begin_requests(lane, several, requests, 0);
    uint64_t entered = ticks();
    int result = REAL(Startall)(count, requests);
    return put_requests(lane, CODE(Startall), CODE_FAILED(Startall), entered, several, record, result);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
ALL_OF(Request_get_status_all, const, false)
ANY_OF(Request_get_status_any, const, false)
SOME_OF(Request_get_status_some, const, false)
#endif
