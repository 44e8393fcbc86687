/* Communicators used in the slow paths. */

struct communicator {
    MPI_Comm handle;
    uint32_t context;
    int sources;       /* the number of possible source ranks */
    long queued;       /* receives in the engine */
    long unexpected;   /* messages in the engine */
    long persistent;   /* requests of persistent receives */
    uint64_t messages; /* messages taken from the library */
    uint64_t received; /* number of the last received message */
    unsigned in_order; /* messages received in the order in which they were taken */
    bool watched;
    bool is_freed;                        /* freed by the program: only persistent receives use it */
    unsigned quiet;                       /* posts since a drain found a long queue */
    struct communicator *previous, *next; /* ring of communicators with receives in the engine */
    struct communicator *chain;           /* hash chain */
};

#define COMMUNICATOR_SLOTS 1024
static struct {
    struct communicator *slots[COMMUNICATOR_SLOTS];
    struct communicator *last; /* the last result of a lookup */
    uint32_t contexts;
} communicators;

static struct communicator **communicator_slot(MPI_Comm handle)
{
    return &communicators.slots[(AS_WORD(handle) * 0x9e3779b97f4a7c15) >> 54];
}

/* Adds a record. NULL: no memory, or the handle is invalid, and the library has called its error handler. */
static __attribute__((noinline)) struct communicator *add_communicator(MPI_Comm handle)
{
    int inter = 0, size = 0;
    if (handle == library.comm_null || REAL(Comm_test_inter)(handle, &inter) != MPI_SUCCESS)
        return NULL;
    if ((inter ? REAL(Comm_remote_size)(handle, &size) : REAL(Comm_size)(handle, &size)) != MPI_SUCCESS)
        return NULL;
    if (overflow.tag_ub == INT_MAX) { /* a program with sessions may have no MPI_COMM_WORLD */
        int found = 0, *bound;
        if (REAL(Comm_get_attr)(handle, MPI_TAG_UB, &bound, &found) == MPI_SUCCESS && found)
            overflow.tag_ub = *bound;
    }
    struct communicator *made = calloc(1, sizeof *made), **slot = communicator_slot(handle);
    if (made == NULL)
        return NULL;
    *made = (struct communicator){
        .handle = handle, .context = ++communicators.contexts, .sources = size, .chain = *slot};
    return communicators.last = *slot = made;
}

static inline struct communicator *known_communicator(MPI_Comm handle)
{
    struct communicator *found = communicators.last;
    if (LIKELY(found != NULL && found->handle == handle))
        return found;
    for (found = *communicator_slot(handle); found != NULL && found->handle != handle; found = found->chain)
        ;
    if (found != NULL)
        communicators.last = found;
    return found;
}

static inline struct communicator *find_communicator(MPI_Comm handle)
{
    struct communicator *found = known_communicator(handle);
    return found != NULL ? found : add_communicator(handle);
}

static void enter_ring(struct communicator *communicator)
{
    struct communicator *first = overflow.busy;
    if (first == NULL) {
        overflow.busy = communicator->previous = communicator->next = communicator;
        return;
    }
    communicator->next = first;
    communicator->previous = first->previous;
    first->previous->next = communicator;
    first->previous = communicator;
}

static void leave_ring(struct communicator *communicator)
{
    overflow.busy = communicator->next != communicator ? communicator->next : NULL;
    communicator->previous->next = communicator->next;
    communicator->next->previous = communicator->previous;
}
