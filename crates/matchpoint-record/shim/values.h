/* Conversion of MPI arguments to words of a record. */


static inline uint64_t handle_word(uint64_t handle, bool null)
{
    return null ? 0 : handle;
}

/* Handles are numbers in some libraries, addresses in others. */
#define AS_WORD(handle)                                                                                  \
    (sizeof(handle) == 4 ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

static inline uint64_t comm_word(MPI_Comm comm)
{
    if (comm == library.comm_world)
        return 1;
    if (comm == library.comm_self)
        return 2;
    return comm == library.comm_null ? 0 : AS_WORD(comm);
}

static inline uint64_t request_word(MPI_Request request)
{
    return request == library.request_null ? 0 : AS_WORD(request);
}

static inline uint64_t message_word(MPI_Message message)
{
    return message == library.message_null || message == library.message_no_proc ? 0 : AS_WORD(message);
}

static inline uint64_t envelope_word(int rank, int tag)
{
    int32_t rank_now = rank == MPI_ANY_SOURCE ? -1 : rank == MPI_PROC_NULL ? -2 : rank;
    int32_t tag_now = tag == MPI_ANY_TAG ? -1 : tag;
    return (uint64_t)(uint32_t)tag_now << 32 | (uint32_t)rank_now;
}

static __attribute__((noinline)) uint64_t type_size(struct lane *lane, MPI_Datatype type, uint32_t freed)
{
    int known = 0;
    MPI_Count size = 0;
    if (REAL(Type_size)(type, &known) != MPI_SUCCESS)
        return UINT64_MAX;
    size = known;
    if (known < 0 && (REAL(Type_size_x)(type, &size) != MPI_SUCCESS || size < 0)) /* MPI_UNDEFINED: larger than an int */
        return UINT64_MAX;
    lane->type = type;
    lane->size = (uint64_t)size;
    lane->types_freed = freed;
    return (uint64_t)size;
}

/* Returns the length in bytes plus one; 0: unknown. */
static inline uint64_t bytes_word(struct lane *lane, MPI_Datatype type, MPI_Count count)
{
    uint32_t freed = atomic_load_explicit(&hot_state.types_freed, memory_order_relaxed) + 1;
    uint64_t size = lane->types_freed == freed && lane->type == type ? lane->size : type_size(lane, type, freed);
    /* One test finds an unknown size and a negative count. Libraries without argument checks accept negative counts. */
    return (int64_t)(size | (uint64_t)count) < 0 ? 0 : (uint64_t)count * size + 1;
}

#define STATUS_INTS (sizeof(MPI_Status) / sizeof(int))

/* All libraries store a message's length in its status in bytes: the lower half in one int, the upper half in the
 * next. The position of the int is determined once. A call of the library's function would cost one or two cache
 * lines, and a branch that is mispredicted after some microseconds of other code. */
static bool length_is_at(unsigned at)
{
    static const int lengths[] = {1, 0, 8, 4242, 0x12345678, INT_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        MPI_Status status = {0};
        int words[STATUS_INTS], reported = -1;
        if (REAL(Status_set_elements)(&status, library.byte, lengths[i]) != MPI_SUCCESS)
            return false;
        memcpy(words, &status, sizeof status);
        if (words[at] != lengths[i] || words[at + 1] != 0)
            return false;
        /* The length depends on this int only: another value gives another length. */
        words[at] = 77;
        memcpy(&status, words, sizeof status);
        if (REAL(Get_count)(&status, library.byte, &reported) != MPI_SUCCESS || reported != 77)
            return false;
    }
    return true;
}

static void find_status_length(void)
{
    if (!has(function_Status_set_elements.real))
        return;
    for (unsigned at = 0; at + 1 < STATUS_INTS && !hot_state.length_is_found; at++) {
        hot_state.length_at = (uint8_t)at;
        hot_state.length_is_found = length_is_at(at);
    }
}

static __attribute__((cold, noinline)) uint64_t length_by_library(const MPI_Status *status)
{
    int count = 0;
    MPI_Count elements = 0;
    if (REAL(Get_count)(status, library.byte, &count) == MPI_SUCCESS && count >= 0)
        return (uint64_t)count + 1;
    if (REAL(Get_elements_x)(status, library.byte, &elements) == MPI_SUCCESS && elements >= 0)
        return (uint64_t)elements + 1;
    return 0;
}

/* Returns the length plus one; 0: unknown. */
static inline uint64_t length_of(const MPI_Status *status)
{
    uint32_t words[2];
    memcpy(words, (const char *)status + sizeof(int) * hot_state.length_at, sizeof words);
    return __builtin_expect(hot_state.length_is_found && words[1] == 0, 1) ? (uint64_t)words[0] + 1 : length_by_library(status);
}

static inline void put_status_words(uint64_t *words, const MPI_Status *status)
{
    int cancelled = 0;
    if (__builtin_expect(atomic_load_explicit(&hot_state.anything_cancelled, memory_order_relaxed), 0))
        REAL(Test_cancelled)(status, &cancelled);
    if (cancelled) {
        words[0] = 0;
        words[1] = (uint64_t)STATUS_CANCELLED << STATUS_SHIFT;
        return;
    }
    words[0] = envelope_word(status->MPI_SOURCE, status->MPI_TAG);
    words[1] = (uint64_t)STATUS_MESSAGE << STATUS_SHIFT | (length_of(status) & STATUS_BYTES);
}

static inline void put_no_status(uint64_t *words)
{
    words[0] = 0;
    words[1] = 0;
}

/* Libraries do not write the statuses of sends, and of other operations. This source marks an unwritten status. */
#define STATUS_UNWRITTEN INT_MIN

static inline MPI_Status *mark_unwritten(MPI_Status *status)
{
    status->MPI_SOURCE = STATUS_UNWRITTEN;
    return status;
}

/* Returns statuses for the library if the application ignores them. NULL: no memory. */
static MPI_Status *statuses_of_lane(struct lane *lane, size_t count)
{
    if (count > lane->statuses_room) {
        size_t room = count < 64 ? 64 : 2 * count;
        MPI_Status *more = realloc(lane->statuses, room * sizeof *more);
        if (more == NULL)
            return NULL;
        memset(more, 0, room * sizeof *more);
        lane->statuses = more;
        lane->statuses_room = room;
    }
    for (size_t i = 0; i < count; i++)
        mark_unwritten(&lane->statuses[i]);
    return lane->statuses;
}

/* Writes the head of a record. Returns the record, or NULL without memory. */
static inline uint64_t *begin(struct lane *lane, uint64_t code, uint64_t fields, uint64_t entered, uint64_t left)
{
    uint64_t *record = reserve(lane, WORD_FIELDS + fields);
    if (__builtin_expect(record == NULL, 0))
        return NULL;
    record[WORD_HEAD] = code;
    record[WORD_ENTER] = entered;
    record[WORD_LEAVE] = left;
    return record;
}

static int error_class(int result)
{
    int class = result;
    REAL(Error_class)(result, &class);
    return class;
}

/* Returns whether a failed receive took no message. A truncated receive took its message. */
static inline bool took_no_message(int result)
{
    return FAILED(result) && error_class(result) != MPI_ERR_TRUNCATE;
}

/* Records a failed call. Its arguments may be invalid, so the library is not called with them: that would raise
 * another error in the application. */
static __attribute__((cold, noinline)) int failed(struct lane *lane, uint64_t code, uint64_t entered, int result)
{
    uint64_t *record = begin(lane, code, 1, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = (uint64_t)(int64_t)error_class(result);
        commit(lane, record, WORD_FIELDS + 1);
    }
    return leave(lane, result);
}
