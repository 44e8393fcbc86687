/* The offset of this host's clock from the clock of rank 0's host.
 *
 * One process of each other host exchanges ping-pong messages with rank 0. The shortest round trip gives the best
 * estimate (Cristian 1989), with half of it as the maximum error. All processes of a host share a clock.
 *
 * This communicates, so all processes must take part: `all_are_recorded` has confirmed that. They use a separate
 * communicator, created before the application can attach attributes to MPI_COMM_WORLD. Its errors affect no other
 * communicator. */

#define OFFSET_ROUNDS 32
#define OFFSET_TAG 1

struct offset {
    uint64_t ticks;
    int64_t ns;
    uint64_t error_ns;
};

/* Unknown: the error is UINT64_MAX. */
#define OFFSET_UNKNOWN ((struct offset){0, 0, UINT64_MAX})

struct host_of {
    uint64_t host;
    int rank;
};

static struct {
    MPI_Comm comm;
    struct host_of *hosts; /* of all processes, sorted; NULL: clocks are not compared */
    uint64_t own, root;    /* the hosts of this process and of rank 0 */
} offsets;

/* Host names may be equal, in containers in particular. */
static uint64_t host_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *at = world.host; *at != 0; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    for (const char *at = world.boot; *at != 0; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    return hash;
}

static int by_host(const void *left, const void *right)
{
    const struct host_of *a = left, *b = right;
    return a->host != b->host ? (a->host < b->host ? -1 : 1) : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Rank 0: answers each message with its time. */
static void offset_answer(int rank)
{
    int64_t now;
    for (int round = 0; round < OFFSET_ROUNDS; round++) {
        if (FAILED(REAL(Recv)(&now, sizeof now, library.byte, rank, OFFSET_TAG, offsets.comm, MPI_STATUS_IGNORE)))
            return;
        now = monotonic_ns();
        if (FAILED(REAL(Send)(&now, sizeof now, library.byte, rank, OFFSET_TAG, offsets.comm)))
            return;
    }
}

static struct offset offset_exchange(void)
{
    struct offset best = OFFSET_UNKNOWN;
    for (int round = 0; round < OFFSET_ROUNDS; round++) {
        int64_t there, before = monotonic_ns();
        if (FAILED(REAL(Send)(&before, sizeof before, library.byte, 0, OFFSET_TAG, offsets.comm)) ||
            FAILED(REAL(Recv)(&there, sizeof there, library.byte, 0, OFFSET_TAG, offsets.comm, MPI_STATUS_IGNORE)))
            return OFFSET_UNKNOWN;
        int64_t after = monotonic_ns();
        uint64_t half = (uint64_t)(after - before) / 2;
        if (half < best.error_ns)
            best = (struct offset){ticks(), there - (before + (int64_t)half), half};
    }
    return best;
}

/* The first process of each host measures with rank 0, one after the other. After a failure, rank 0 skips that
 * process. */
static struct offset offset_measure(void)
{
    struct offset own = {ticks(), 0, 0};
    for (int i = 0; i < world.size; i++) {
        const struct host_of *at = &offsets.hosts[i];
        bool leads = at->host != offsets.root && (i == 0 || at->host != offsets.hosts[i - 1].host);
        if (leads && world.rank == 0)
            offset_answer(at->rank);
        else if (leads && world.rank == at->rank)
            own = offset_exchange();
    }
    return own;
}

/* Returns the index in `offsets.hosts` of the first process of a host. */
static int first_of_host(uint64_t host)
{
    int from = 0, to = world.size;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (offsets.hosts[middle].host < host)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Returns the number of processes with a smaller rank on this host. */
static int offset_place_on_host(void)
{
    if (offsets.hosts == NULL)
        return world.rank; /* one host */
    int first = first_of_host(offsets.own), at = first;
    while (offsets.hosts[at].rank != world.rank)
        at++;
    return at - first;
}

/* Collective over the world. False: not all processes took part. */
static bool offset_note(void)
{
    struct offset own = offset_measure(), *all = malloc((size_t)world.size * sizeof *all);
    if (all == NULL) {
        /* No process may leave the others waiting, and without memory the program ends anyway. */
        log_error("no memory to compare the clocks of %d processes", world.size);
        REAL(Abort)(library.comm_world, 1);
    }
    bool good = !FAILED(REAL(Allgather)(&own, sizeof own, library.byte, all, sizeof own, library.byte, offsets.comm));
    if (good && offsets.own != offsets.root)
        own = all[offsets.hosts[first_of_host(offsets.own)].rank];
    if (good && own.error_ns != UINT64_MAX) {
        pthread_mutex_lock(&drain.mutex);
        file_block(BLOCK_OFFSET, 0, 0, &own, sizeof own);
        pthread_mutex_unlock(&drain.mutex);
    }
    free(all);
    return good;
}

/* Called after MPI_Init. With one host, there is nothing to compare. */
static void offset_begin(void)
{
    if (on_one_host() || !all_are_recorded() || FAILED(REAL(Comm_dup)(library.comm_world, &offsets.comm)))
        return;
    REAL(Comm_set_errhandler)(offsets.comm, library.errors_return);
    struct host_of own = {host_hash(), world.rank};
    offsets.hosts = malloc((size_t)world.size * sizeof own);
    if (offsets.hosts == NULL) {
        log_error("no memory to compare the clocks of %d processes", world.size);
        REAL(Abort)(library.comm_world, 1);
    }
    REAL(Allgather)(&own, sizeof own, library.byte, offsets.hosts, sizeof own, library.byte, offsets.comm);
    offsets.own = own.host;
    offsets.root = offsets.hosts[0].host;
    qsort(offsets.hosts, (size_t)world.size, sizeof own, by_host);
    bool several = offsets.hosts[0].host != offsets.hosts[world.size - 1].host;
    if (several && offset_note())
        return;
    REAL(Comm_free)(&offsets.comm);
    free(offsets.hosts);
    offsets.hosts = NULL;
}

/* Called before MPI_Finalize. If a process has ended, the measurement fails without blocking the others. */
static void offset_end(void)
{
    if (offsets.hosts == NULL)
        return;
    if (offset_note())
        REAL(Comm_free)(&offsets.comm);
    free(offsets.hosts);
    offsets.hosts = NULL;
}
