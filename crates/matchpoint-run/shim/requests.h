/* Records of receives in the engine, and their lookup by request.
 *
 * An overflowed receive needs a handle that all MPI functions accept. The handle is a generalized request that never
 * completes. Completion calls replace it by the library's request of the matched message. Errors, statuses and
 * cancellation are therefore the library's. Handles are reused: their number is the largest queue length so far. */

enum receive_state {
    RECEIVE_IDLE,    /* persistent, not started */
    RECEIVE_NATIVE,  /* persistent, started in the library */
    RECEIVE_QUEUED,  /* in the engine */
    RECEIVE_STARTED, /* `inner` is the library's request */
};

/* The send of MPI_Isendrecv. The request completes when both transfers have completed. */
struct pair {
    MPI_Request send;
    void *packed; /* a copy of the send buffer, or NULL */
};

struct receive {
    MPI_Request handle; /* the program's request */
    MPI_Request inner;
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    struct communicator *communicator; /* NULL: freed by the program */
    int source, tag;
    uint8_t state;
    bool is_persistent;
    bool is_blocking; /* its sender may wait for it */
    bool is_derived;  /* the datatype is derived */
    bool is_counted;  /* `inner` counts as a receive of the library */
    bool is_released; /* the program has freed the request */
    bool is_truncated; /* the message is longer than the buffer (Open MPI only) */
    int error;        /* of the call that created `inner` */
    uint64_t bytes;
    uint64_t since; /* ticks */
    struct pair *pair;
    struct receive *next; /* free list; list of receives to give back */
};

static struct receive *free_receives;

/* A hash table of handles with open addressing, at most half full. */
static struct {
    struct receive **slots;
    size_t mask; /* 0: not allocated */
    size_t used;
} map;

/* Handles are numbers in some libraries, addresses in others. */
#define AS_WORD(handle)                                                                                  \
    (sizeof(handle) == 4 ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

static inline size_t map_slot(MPI_Request handle)
{
    return (size_t)((AS_WORD(handle) * 0x9e3779b97f4a7c15) >> 20) & map.mask;
}

static inline struct receive *find_receive(MPI_Request handle)
{
    if (map.used == 0 || handle == library.request_null)
        return NULL;
    for (size_t at = map_slot(handle); map.slots[at] != NULL; at = (at + 1) & map.mask)
        if (map.slots[at]->handle == handle)
            return map.slots[at];
    return NULL;
}

static void map_put(struct receive *receive)
{
    size_t at = map_slot(receive->handle);
    while (map.slots[at] != NULL)
        at = (at + 1) & map.mask;
    map.slots[at] = receive;
    map.used++;
}

/* False: no memory. */
static bool map_reserve(void)
{
    if (map.mask != 0 && 2 * (map.used + 1) <= map.mask)
        return true;
    struct receive **before = map.slots, **slots;
    size_t size = map.mask == 0 ? 256 : 2 * (map.mask + 1), old = map.mask == 0 ? 0 : map.mask + 1;
    if ((slots = calloc(size, sizeof *slots)) == NULL)
        return false;
    map.slots = slots;
    map.mask = size - 1;
    map.used = 0;
    for (size_t i = 0; i < old; i++)
        if (before[i] != NULL)
            map_put(before[i]);
    free(before);
    return true;
}

/* Moves later displaced entries forward. */
static void map_remove(const struct receive *receive)
{
    size_t at = map_slot(receive->handle);
    while (map.slots[at] != receive)
        at = (at + 1) & map.mask;
    map.used--;
    for (size_t next = (at + 1) & map.mask; map.slots[next] != NULL; next = (next + 1) & map.mask) {
        size_t home = map_slot(map.slots[next]->handle);
        if (((next - home) & map.mask) < ((next - at) & map.mask))
            continue;
        map.slots[at] = map.slots[next];
        at = next;
    }
    map.slots[at] = NULL;
}

/* Callbacks of generalized requests. Only a cancelled receive's request completes, with a cancelled status. */
static int query_cancelled(void *unused, MPI_Status *status)
{
    (void)unused;
    REAL(Status_set_elements)(status, library.byte, 0);
    return REAL(Status_set_cancelled)(status, 1);
}

static int free_nothing(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *unused, int complete)
{
    (void)unused;
    (void)complete;
    return MPI_SUCCESS;
}

static int make_handle(MPI_Request *handle)
{
    return REAL(Grequest_start)(query_cancelled, free_nothing, cancel_nothing, NULL, handle);
}

/* Returns a record with a handle. NULL: no memory. */
static struct receive *take_receive(void)
{
    struct receive *receive = free_receives;
    if (receive != NULL) {
        free_receives = receive->next;
        return receive;
    }
    if (!map_reserve() || (receive = calloc(1, sizeof *receive)) == NULL)
        return NULL;
    if (make_handle(&receive->handle) != MPI_SUCCESS) {
        free(receive);
        return NULL;
    }
    map_put(receive);
    return receive;
}

/* Returns the record of a receive that the program has completed or does not get. */
static void return_receive(struct receive *receive)
{
    receive->state = RECEIVE_IDLE;
    receive->communicator = NULL;
    receive->pair = NULL;
    receive->error = MPI_SUCCESS;
    receive->is_released = receive->is_counted = receive->is_truncated = false;
    receive->next = free_receives;
    free_receives = receive;
}

/* A persistent receive keeps the library's handle. */
static void register_persistent(struct receive *receive, MPI_Request handle)
{
    receive->handle = handle;
    receive->is_persistent = true;
    receive->state = RECEIVE_IDLE;
    map_put(receive);
}
