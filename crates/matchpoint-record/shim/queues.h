/* Queue lengths from the library's performance variables (MPI-4.1 §15.3.7), if it has them.
 *
 * They are read in the application's threads, within its MPI calls, because no library guarantees safety elsewhere.
 * The drain requests a reading each second. After the next recorded call, a remark (a record with data about the
 * call) has the lengths.
 *
 * Other calls have no extra cost. For a request, the drain sets the `limit` of a lane to 0. Every record checks this
 * limit, so the next record takes the slow path (`reserve_slow`), which finds the request. */

USED(T_init_thread);
USED(T_finalize);
USED(T_pvar_get_index);
USED(T_pvar_get_info);
USED(T_pvar_handle_alloc);
USED(T_pvar_handle_free);
USED(T_pvar_read);
USED(T_pvar_session_create);
USED(T_pvar_session_free);

/* Limit of values per reading. ob1 has one for each process of each communicator. */
#define QUEUE_VALUES_MOST 65536
#define QUEUE_COMMS_MOST 64

enum queue { QUEUE_POSTED, QUEUE_UNEXPECTED, QUEUES };
/* Fields of the remark. QUEUE_UNKNOWN: unknown length. QUEUE_BUT_ANY_SOURCE: bit of the last field. */
#define QUEUE_UNKNOWN (~(uint64_t)0)
#define QUEUE_BUT_ANY_SOURCE 1

/* Variables by library. The first pair is from MPICH and derived libraries (configured with --enable-mpit-pvars).
 * The second is from Open MPI's point-to-point layer ob1. Its posted queue excludes receives from any source, which
 * have a separate queue. */
static const struct {
    const char *names[QUEUES];
    uint64_t excluded;
} queue_names[] = {
    {{"posted_recvq_length", "unexpected_recvq_length"}, 0},
    {{"pml_ob1_posted_recvq_length", "pml_ob1_unexpected_msgq_length"}, QUEUE_BUT_ANY_SOURCE},
};

struct queue_variable {
    int index; /* -1: no such variable */
    bool of_comms;
    int bytes; /* bytes per value */
};

/* A communicator with variables bound to it. */
struct queue_comm {
    bool used;
    MPI_Comm comm; /* fixed address: a handle may refer to it */
    MPI_T_pvar_handle handles[QUEUES];
    int values[QUEUES];
};

static struct {
    /* Protects the fields below: a thread may free a communicator while another thread reads lengths. */
    pthread_mutex_t mutex;
    MPI_T_pvar_session session;
    struct queue_variable variables[QUEUES];
    uint64_t excluded;
    MPI_T_pvar_handle handles[QUEUES]; /* of variables of the process */
    struct queue_comm comms[QUEUE_COMMS_MOST];
    int comms_unbound; /* live communicators without handles: while any exists, lengths are unknown */
    uint64_t *values;
} queues = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool queue_functions(void)
{
    return has(function_T_init_thread.real) && has(function_T_finalize.real) && has(function_T_pvar_get_index.real) &&
           has(function_T_pvar_get_info.real) && has(function_T_pvar_handle_alloc.real) &&
           has(function_T_pvar_handle_free.real) && has(function_T_pvar_read.real) &&
           has(function_T_pvar_session_create.real) && has(function_T_pvar_session_free.real);
}

static struct queue_variable queue_variable(const char *name)
{
    struct queue_variable found = {.index = -1};
    char no_name[1], no_description[1];
    MPI_T_enum names;
    int index, name_length = 1, description_length = 1, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    /* The length of a queue is a level in MPICH, a size in Open MPI. */
    if ((REAL(T_pvar_get_index)(name, MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS &&
         REAL(T_pvar_get_index)(name, MPI_T_PVAR_CLASS_SIZE, &index) != MPI_SUCCESS) ||
        REAL(T_pvar_get_info)(index, no_name, &name_length, &verbosity, &class, &type, &names, no_description,
                              &description_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS)
        return found;
    /* A variable that must be started is of an unknown kind. */
    if ((bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM) || !continuous)
        return found;
    int bytes = 0;
    if (REAL(Type_size)(type, &bytes) != MPI_SUCCESS || (bytes != 4 && bytes != 8))
        return found;
    return (struct queue_variable){index, bind == MPI_T_BIND_MPI_COMM, bytes};
}

static bool queue_handle(enum queue queue, MPI_Comm *comm, MPI_T_pvar_handle *handle, int *values)
{
    return REAL(T_pvar_handle_alloc)(queues.session, queues.variables[queue].index, comm, handle, values) == MPI_SUCCESS;
}

static void queues_drop_at(struct queue_comm *entry, int handles)
{
    for (int queue = 0; queue < handles; queue++)
        if (queues.variables[queue].index >= 0 && queues.variables[queue].of_comms)
            REAL(T_pvar_handle_free)(queues.session, &entry->handles[queue]);
    entry->used = false;
}

static struct queue_comm *queue_comm(bool used, MPI_Comm comm)
{
    for (int i = 0; i < QUEUE_COMMS_MOST; i++)
        if (queues.comms[i].used == used && (!used || queues.comms[i].comm == comm))
            return &queues.comms[i];
    return NULL;
}

static int queue_values(void)
{
    int values = 0;
    for (int i = 0; i < QUEUE_COMMS_MOST; i++)
        if (queues.comms[i].used)
            values += queues.comms[i].values[QUEUE_POSTED];
    return values;
}

/* Adds handles for a communicator. False for intercommunicators: libraries return too few values. */
static bool queues_bind(MPI_Comm comm)
{
    struct queue_comm *entry = queue_comm(false, comm);
    int inter = 1, before = queue_values();
    if (entry == NULL || REAL(Comm_test_inter)(comm, &inter) != MPI_SUCCESS || inter)
        return false;
    *entry = (struct queue_comm){.used = true, .comm = comm};
    for (int queue = 0; queue < QUEUES; queue++) {
        struct queue_variable *variable = &queues.variables[queue];
        if (variable->index < 0 || !variable->of_comms)
            continue;
        if (!queue_handle(queue, &entry->comm, &entry->handles[queue], &entry->values[queue])) {
            queues_drop_at(entry, queue);
            return false;
        }
        if (before + entry->values[queue] > QUEUE_VALUES_MOST) {
            queues_drop_at(entry, queue + 1);
            return false;
        }
    }
    return true;
}

/* Called when a communicator exists. `whole`: it may be used immediately. */
static void queues_add(MPI_Comm comm, bool whole)
{
    if (!atomic_load_explicit(&queues_on, memory_order_relaxed))
        return;
    pthread_mutex_lock(&queues.mutex);
    if (atomic_load(&queues_on) && !(whole && queues_bind(comm)))
        queues.comms_unbound++;
    pthread_mutex_unlock(&queues.mutex);
}

/* Called before a communicator is freed. */
static void queues_drop(MPI_Comm comm)
{
    if (!atomic_load_explicit(&queues_on, memory_order_relaxed))
        return;
    pthread_mutex_lock(&queues.mutex);
    struct queue_comm *entry = queue_comm(true, comm);
    if (atomic_load(&queues_on) && entry != NULL)
        queues_drop_at(entry, QUEUES);
    else if (queues.comms_unbound > 0)
        queues.comms_unbound--;
    pthread_mutex_unlock(&queues.mutex);
}

/* Called after MPI_Init, in the same thread. */
static void queues_open(void)
{
    int provided;
    if (!queue_functions() || REAL(T_init_thread)(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof queue_names / sizeof *queue_names; i++) {
        bool any = false;
        for (int queue = 0; queue < QUEUES; queue++) {
            queues.variables[queue] = queue_variable(queue_names[i].names[queue]);
            any |= queues.variables[queue].index >= 0;
        }
        queues.excluded = queue_names[i].excluded;
        if (any)
            break;
    }
    bool any = false, of_comms = false;
    bool session = REAL(T_pvar_session_create)(&queues.session) == MPI_SUCCESS;
    for (int queue = 0; queue < QUEUES && session; queue++) {
        struct queue_variable *variable = &queues.variables[queue];
        int values = 1;
        if (variable->index >= 0 && !variable->of_comms &&
            (!queue_handle(queue, NULL, &queues.handles[queue], &values) || values != 1))
            variable->index = -1;
        any |= variable->index >= 0;
        of_comms |= variable->index >= 0 && variable->of_comms;
    }
    queues.values = any ? malloc(QUEUE_VALUES_MOST * sizeof *queues.values) : NULL;
    if (queues.values == NULL) {
        if (session)
            REAL(T_pvar_session_free)(&queues.session);
        REAL(T_finalize)();
        return;
    }
    atomic_store(&queues_on, true);
    if (of_comms) {
        queues_add(library.comm_world, true);
        queues_add(library.comm_self, true);
    }
}

/* Called before MPI_Finalize. */
static void queues_close(void)
{
    if (!atomic_load(&queues_on))
        return;
    pthread_mutex_lock(&queues.mutex);
    atomic_store(&queues_on, false);
    for (int i = 0; i < QUEUE_COMMS_MOST; i++)
        if (queues.comms[i].used)
            queues_drop_at(&queues.comms[i], QUEUES);
    for (int queue = 0; queue < QUEUES; queue++)
        if (queues.variables[queue].index >= 0 && !queues.variables[queue].of_comms)
            REAL(T_pvar_handle_free)(queues.session, &queues.handles[queue]);
    REAL(T_pvar_session_free)(&queues.session);
    REAL(T_finalize)();
    free(queues.values);
    pthread_mutex_unlock(&queues.mutex);
}

/* Adds the values of one handle. QUEUE_UNKNOWN: the read failed. */
static uint64_t queue_sum(enum queue queue, MPI_T_pvar_handle handle, int values, uint64_t so_far)
{
    if (so_far == QUEUE_UNKNOWN || REAL(T_pvar_read)(queues.session, handle, queues.values) != MPI_SUCCESS)
        return QUEUE_UNKNOWN;
    for (int i = 0; i < values; i++)
        so_far += queues.variables[queue].bytes == 8 ? queues.values[i] : ((const uint32_t *)queues.values)[i];
    return so_far;
}

static uint64_t queue_length(enum queue queue)
{
    struct queue_variable *variable = &queues.variables[queue];
    if (variable->index < 0 || (variable->of_comms && queues.comms_unbound > 0))
        return QUEUE_UNKNOWN;
    if (!variable->of_comms)
        return queue_sum(queue, queues.handles[queue], 1, 0);
    uint64_t length = 0;
    for (int i = 0; i < QUEUE_COMMS_MOST; i++)
        if (queues.comms[i].used)
            length = queue_sum(queue, queues.comms[i].handles[queue], queues.comms[i].values[queue], length);
    return length;
}

/* Writes the remark on the current call, in its thread, after it. */
static __attribute__((noinline)) void write_queues(struct lane *lane, uint64_t remark_follows)
{
    uint64_t lengths[QUEUES] = {QUEUE_UNKNOWN, QUEUE_UNKNOWN};
    uint64_t entered = ticks();
    pthread_mutex_lock(&queues.mutex);
    if (atomic_load(&queues_on))
        for (int queue = 0; queue < QUEUES; queue++)
            lengths[queue] = queue_length(queue);
    pthread_mutex_unlock(&queues.mutex);
    uint64_t *record = reserve(lane, WORD_FIELDS + 3);
    if (record == NULL)
        return; /* the recording is over */
    record[WORD_HEAD] = CODE(queues) | remark_follows;
    record[WORD_ENTER] = entered;
    record[WORD_LEAVE] = ticks();
    record[WORD_FIELDS] = lengths[QUEUE_POSTED];
    record[WORD_FIELDS + 1] = lengths[QUEUE_UNEXPECTED];
    record[WORD_FIELDS + 2] = queues.excluded;
    commit(lane, record, WORD_FIELDS + 3);
}
