/* Starting, completing, cancelling and freeing requests (MPI-4.1 §3.7.3 to 3.9).
 *
 * The requests are copied before the call, which replaces those that complete: straight into the record, whose head is
 * filled in afterwards. A call that finds nothing complete leaves out which of several requests it looked at: applications
 * poll, and the next call that finds something names them. */

/* A record with room for so many requests and completions, the requests filled in. */
static inline uint64_t *begin_requests(struct lane *lane, size_t count, const MPI_Request requests[], size_t completions)
{
    uint64_t *record = room(lane, WORD_FIELDS + 2 + count + 3 * completions);
    if (record == NULL)
        return NULL;
    record[WORD_FIELDS] = count;
    for (size_t i = 0; i < count; i++)
        record[WORD_FIELDS + 1 + i] = request_word(requests[i]);
    return record;
}

static inline uint64_t *put_completion(uint64_t *at, size_t index, const MPI_Status *status)
{
    at[0] = index;
    put_status_words(at + 1, status);
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

/* Whether a request that a call on several of them reported an error for is complete all the same. */
static inline bool ended(int result, const MPI_Status *status)
{
    return !FAILED(result) || status->MPI_ERROR != MPI_ERR_PENDING;
}

/* A call on one request frees it even if its receive failed, as a message that was too long does. */
static inline bool over(int result, const MPI_Request *request)
{
    return !FAILED(result) || *request == library.request_null;
}

static inline bool tells(int result)
{
    return !FAILED(result) || result == MPI_ERR_IN_STATUS;
}

CALL(Wait, "QC", (MPI_Request * request, MPI_Status *status), (request, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Wait)(request, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t *record = begin_requests(lane, 1, request, 1);
    uint64_t entered = ticks();
    int result = REAL(Wait)(request, reported);
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 2, *end = completions + 1;
        if (record[WORD_FIELDS + 1] != 0 && over(result, request))
            end = put_completion(end, 0, reported);
        finish_requests(lane, record, CODE(Wait), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Test, "QC", (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Test)(request, flag, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t *record = begin_requests(lane, 1, request, 1);
    uint64_t entered = ticks();
    int result = REAL(Test)(request, flag, reported);
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 2, *end = completions + 1;
        if (record[WORD_FIELDS + 1] != 0 && over(result, request) && (FAILED(result) || *flag))
            end = put_completion(end, 0, reported);
        finish_requests(lane, record, CODE(Test), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Request_get_status, "QC", (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Request_get_status)(request, flag, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t *record = begin_requests(lane, 1, &request, 1);
    uint64_t entered = ticks();
    int result = REAL(Request_get_status)(request, flag, reported);
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 2, *end = completions + 1;
        if (record[WORD_FIELDS + 1] != 0 && !FAILED(result) && *flag)
            end = put_completion(end, 0, reported);
        finish_requests(lane, record, CODE(Request_get_status), entered, left, completions, end);
    }
    return leave(lane, result);
}

static uint64_t *put_all(uint64_t *end, const uint64_t *record, size_t count, int result, const MPI_Status *reported)
{
    for (size_t i = 0; i < count; i++)
        if (record[WORD_FIELDS + 1 + i] != 0 && ended(result, &reported[i]))
            end = put_completion(end, i, &reported[i]);
    return end;
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
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;
        if (tells(result) && reported != NULL)
            end = put_all(end, record, several, result, reported);
        finish_requests(lane, record, CODE(Waitall), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Testall, "QC", (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (count, requests, flag, statuses))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Testall)(count, requests, flag, statuses);
    size_t several = count > 0 ? (size_t)count : 0;
    MPI_Status *reported = statuses == MPI_STATUSES_IGNORE ? statuses_of_lane(lane, several) : statuses;
    uint64_t *record = begin_requests(lane, several, requests, several);
    uint64_t entered = ticks();
    int result = REAL(Testall)(count, requests, flag, reported != NULL ? reported : statuses);
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;
        if (tells(result) && *flag && reported != NULL)
            end = put_all(end, record, several, result, reported);
        finish_requests(lane, record, CODE(Testall), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Waitany, "QC", (int count, MPI_Request requests[], int *index, MPI_Status *status), (count, requests, index, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Waitany)(count, requests, index, status);
    size_t several = count > 0 ? (size_t)count : 0;
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t *record = begin_requests(lane, several, requests, 1);
    uint64_t entered = ticks();
    int result = REAL(Waitany)(count, requests, index, reported);
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;
        if (!FAILED(result) && *index != MPI_UNDEFINED)
            end = put_completion(end, (size_t)*index, reported);
        finish_requests(lane, record, CODE(Waitany), entered, left, completions, end);
    }
    return leave(lane, result);
}

CALL(Testany, "QC", (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Testany)(count, requests, index, flag, status);
    size_t several = count > 0 ? (size_t)count : 0;
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t *record = begin_requests(lane, several, requests, 1);
    uint64_t entered = ticks();
    int result = REAL(Testany)(count, requests, index, flag, reported);
    uint64_t left = ticks();
    if (record != NULL) {
        uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;
        if (!FAILED(result) && *flag && *index != MPI_UNDEFINED)
            end = put_completion(end, (size_t)*index, reported);
        finish_requests(lane, record, CODE(Testany), entered, left, completions, end);
    }
    return leave(lane, result);
}

#define SOME(NAME)                                                                                       \
    CALL(NAME, "QC", (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]), \
         (count, requests, outcount, indices, statuses))                                                 \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(count, requests, outcount, indices, statuses);                             \
        size_t several = count > 0 ? (size_t)count : 0;                                                  \
        MPI_Status *reported = statuses == MPI_STATUSES_IGNORE ? statuses_of_lane(lane, several) : statuses; \
        uint64_t *record = begin_requests(lane, several, requests, several);                             \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(count, requests, outcount, indices, reported != NULL ? reported : statuses); \
        uint64_t left = ticks();                                                                         \
        if (record != NULL) {                                                                            \
            uint64_t *completions = record + WORD_FIELDS + 1 + several, *end = completions + 1;          \
            if (tells(result) && *outcount != MPI_UNDEFINED && reported != NULL)                         \
                for (int i = 0; i < *outcount; i++)                                                      \
                    end = put_completion(end, (size_t)indices[i], &reported[i]);                         \
            finish_requests(lane, record, CODE(NAME), entered, left, completions, end);                  \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

SOME(Waitsome)
SOME(Testsome)

/* Calls that name requests, and complete none. */
static inline int put_requests(struct lane *lane, uint64_t code, uint64_t code_failed, uint64_t entered, size_t count,
                               uint64_t *record, int result)
{
    if (FAILED(result))
        return failed(lane, code_failed, entered, result);
    if (record != NULL) {
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
    atomic_store_explicit(&anything_cancelled, true, memory_order_relaxed);
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
