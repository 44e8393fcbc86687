/* The MPI library's search cost per entry, measured on the application's hosts: within MPI_Init, between pairs of
 * ranks, on a separate communicator. The upper rank of a pair receives and measures, the lower one sends.
 *
 * Searches are timed in the best and the worst case. Best: entries are adjacent in memory, and caches are warm.
 * Worst: entries are in random order, because earlier entries were freed in random order, and other data has
 * replaced the caches' contents.
 *
 * Bursts of messages without searches are timed too: a call that completes many messages takes that time without any
 * search. If sends must wait in the library, the time per message is many times longer. In a ring, all ranks send at
 * once: processes that share processors wait for each other, as in the application. */

#define SEARCH_MOST 1024
#define SEARCH_REPEATS 3
/* If unexpected messages delay a message by this time, the network holds few unexpected messages. */
#define SEARCH_PATIENCE_NS 200e6
/* Sleep of a rank that waits for other ranks' measurements. */
#define SEARCH_SLEEP_NS 100000
/* Bytes read between two searches: more than the caches of a core hold. */
#define SEARCH_WALKED ((size_t)2 << 20)
/* Messages of the longest burst. Omitted if a message of the shorter burst takes BURST_SLOW_NS. */
#define BURST_MOST 2048
#define BURST_SLOW_NS 5000
/* Messages of a ring burst, and bursts after the first, which connects the ranks. */
#define RING_BURST 32
#define RING_REPEATS 2

static const char *const search_names[SEARCH_KINDS] = {"posted", "posted_any", "unexpected", "unexpected_any"};
static const int search_lengths[] = {64, 256, SEARCH_MOST};
#define SEARCH_LENGTHS (sizeof search_lengths / sizeof *search_lengths)
static const int burst_lengths[] = {128, BURST_MOST};
#define BURST_LENGTHS (sizeof burst_lengths / sizeof *burst_lengths)

/* Costs of one kind of search, in nanoseconds. */
struct search_cost {
    double empty_ns;                /* time of a call with an empty queue */
    double best_ns[SEARCH_LENGTHS]; /* per entry */
    double worst_ns;                /* per entry of the longest queue */
};

static struct search_pair {
    struct search_link link;
    double ticks_per_ns;
    volatile char *walked;
    MPI_Request requests[2 * BURST_MOST];
    int order[SEARCH_MOST];   /* a random permutation */
    int restore[SEARCH_MOST]; /* removes entries that were added after a removal in `order`, by falling address */
} *search_pair;

/* Completed receives of the entries in random order, freed in MPI_Finalize. MPICH would otherwise give these entries to the
 * application, and the searches of the application would take longer. */
static struct {
    MPI_Request *requests, *end;
} search_kept;

/* Reads in an order that the hardware does not prefetch, because a stream bypasses the caches. The step and the
 * number of lines are coprime. */
static void evict_caches(void)
{
    for (size_t line = 0, lines = SEARCH_WALKED / 64; line < lines; line++)
        (void)search_pair->walked[line * 40503 % lines * 64];
}

static double search_entry_ns(const struct search_pair *pair, uint64_t with, uint64_t without, int length)
{
    return ((double)with - (double)without) / length / pair->ticks_per_ns;
}

/* Kinds of search in a queue of the same entries. */
static const struct search_queue {
    enum search_kind first, last;
} search_queues[] = {
    {SEARCH_POSTED, SEARCH_POSTED},
    {SEARCH_POSTED_ANY, SEARCH_POSTED_ANY},
    {SEARCH_UNEXPECTED, SEARCH_UNEXPECTED_ANY},
};
#define SEARCH_QUEUES (sizeof search_queues / sizeof *search_queues)

static void search_time_kinds(struct search_link *link, const struct search_queue *queue, uint64_t *took)
{
    for (enum search_kind kind = queue->first; kind <= queue->last; kind++)
        took[kind] = search_time(link, kind, SEARCH_REPEATS);
}

/* The queue grows to each length. Then its entries are removed in random order and added again. The empty queue is
 * searched before and after, because costs vary over time. The last removal lets the application find the library's
 * free entries in the order of addresses, as without a measurement: the next entry is the last one freed. Entries that are
 * receives stay allocated. */
static void search_measure(struct search_pair *pair, const struct search_queue *queue, struct search_cost *costs)
{
    struct search_link *link = &pair->link;
    uint64_t with[SEARCH_LENGTHS][SEARCH_KINDS], cold[SEARCH_KINDS], before[SEARCH_KINDS];
    search_time(link, queue->first, SEARCH_REPEATS); /* warms the code */
    search_time_kinds(link, queue, before);
    int filled = 0;
    for (size_t i = 0; i < SEARCH_LENGTHS; i++) {
        search_fill(link, queue->first, filled, search_lengths[i]);
        filled = search_lengths[i];
        search_time_kinds(link, queue, with[i]);
    }
    link->order = pair->order;
    search_empty(link, queue->first, SEARCH_MOST);
    link->order = NULL;
    search_fill(link, queue->first, 0, SEARCH_MOST);
    link->cool_caches = evict_caches;
    search_time_kinds(link, queue, cold);
    link->cool_caches = NULL;
    link->order = pair->restore;
    link->kept = search_kept.end;
    search_empty(link, queue->first, SEARCH_MOST);
    search_kept.end = link->kept;
    link->kept = NULL;
    link->order = NULL;
    for (enum search_kind kind = queue->first; kind <= queue->last; kind++) {
        uint64_t after = search_time(link, kind, SEARCH_REPEATS);
        uint64_t without = before[kind] < after ? before[kind] : after;
        costs[kind].empty_ns = (double)without / pair->ticks_per_ns;
        for (size_t i = 0; i < SEARCH_LENGTHS; i++)
            costs[kind].best_ns[i] = search_entry_ns(pair, with[i][kind], without, search_lengths[i]);
        costs[kind].worst_ns = search_entry_ns(pair, cold[kind], without, SEARCH_MOST);
    }
}

/* Returns nanoseconds per message in calls that wait for a burst. Each rank sends to one rank and receives from one,
 * in posted order. The calls block, as in applications. */
static double burst_message_ns(struct search_pair *pair, int length, int to, int from)
{
    struct search_link *link = &pair->link;
    MPI_Request *sends = pair->requests + length;
    for (int i = 0; i < length; i++)
        REAL(Irecv)(&link->in, 1, library.byte, from, SEARCH_FIRST, link->comm, &pair->requests[i]);
    REAL(Sendrecv)(&link->out, 1, library.byte, from, SEARCH_GO, &link->in, 1, library.byte, to, SEARCH_GO, link->comm,
                   MPI_STATUS_IGNORE);
    for (int i = 0; i < length; i++)
        REAL(Isend)(&link->out, 1, library.byte, to, SEARCH_FIRST, link->comm, &sends[i]);
    uint64_t before = ticks();
    for (int i = 0; i < 2 * length; i++)
        REAL(Wait)(&pair->requests[i], MPI_STATUS_IGNORE);
    return (double)(ticks() - before) / length / pair->ticks_per_ns;
}

/* Exchanges bytes between both ranks of a pair. */
static bool search_exchange(struct search_link *link, const void *own, void *other, int bytes)
{
    return !FAILED(REAL(Sendrecv)(own, bytes, library.byte, link->peer, SEARCH_GO, other, bytes, library.byte, link->peer,
                                  SEARCH_GO, link->comm, MPI_STATUS_IGNORE));
}

/* Times one burst of each length, up to a length that is slow at either rank. The fastest of several bursts counts,
 * because host load only adds time. 0: no burst. */
static void burst_measure(struct search_pair *pair, double *fastest_ns)
{
    struct search_link *link = &pair->link;
    double slowest_ns = 0;
    for (size_t i = 0; i < BURST_LENGTHS && slowest_ns < BURST_SLOW_NS; i++) {
        double own_ns = burst_message_ns(pair, burst_lengths[i], link->peer, link->peer), other_ns = 0;
        search_exchange(link, &own_ns, &other_ns, sizeof own_ns);
        slowest_ns = own_ns > other_ns ? own_ns : other_ns;
        if (fastest_ns[i] == 0 || slowest_ns < fastest_ns[i])
            fastest_ns[i] = slowest_ns;
    }
}

/* Returns the mean over bursts in which every rank sends to the next rank. Not every burst has to wait. */
static double ring_message_ns(struct search_pair *pair)
{
    int next = (world.rank + 1) % world.size, previous = (world.rank + world.size - 1) % world.size;
    double sum_ns = 0;
    burst_message_ns(pair, RING_BURST, next, previous);
    for (int i = 0; i < RING_REPEATS; i++)
        sum_ns += burst_message_ns(pair, RING_BURST, next, previous);
    return sum_ns / RING_REPEATS;
}

static void search_shuffle(int *order, int *restore)
{
    uint32_t state = 1;
    for (int i = 0; i < SEARCH_MOST; i++)
        order[i] = i;
    for (int i = SEARCH_MOST - 1; i > 0; i--) {
        state = state * 1664525 + 1013904223;
        int other = (int)((state >> 8) % (uint32_t)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    /* The entry freed last is added first. */
    for (int i = 0; i < SEARCH_MOST; i++)
        restore[SEARCH_MOST - 1 - order[i]] = SEARCH_MOST - 1 - i;
}

/* libfabric providers hold few unexpected messages per sender, then accept no more. An MPI library may contain
 * libfabric. */
static bool may_hold_messages(bool same_host)
{
    bool passes_memory = same_host && !is_memory_off() && strcmp(transport, "cm/ofi") != 0;
    bool is_known = strcmp(transport, "ob1") == 0 || strcmp(transport, "ucx") == 0;
    return passes_memory || (is_known && !is_loaded("/libfabric"));
}

static void search_write(bool same_host, const struct search_cost *costs, int kinds, const double *burst_ns,
                         double ring_ns)
{
    struct text text = {0};
    text_add(&text, "{\"same_host\":%s,\"lengths\":[", same_host ? "true" : "false");
    for (size_t i = 0; i < SEARCH_LENGTHS; i++)
        text_add(&text, "%s%d", i == 0 ? "" : ",", search_lengths[i]);
    text_add(&text, "]");
    for (int kind = 0; kind < kinds; kind++) {
        text_add(&text, ",\"%s\":{\"warm_ns\":[", search_names[kind]);
        for (size_t i = 0; i < SEARCH_LENGTHS; i++)
            text_add(&text, "%s%.3f", i == 0 ? "" : ",", costs[kind].best_ns[i]);
        text_add(&text, "],\"cold_ns\":%.3f,\"empty_ns\":%.1f}", costs[kind].worst_ns, costs[kind].empty_ns);
    }
    text_add(&text, ",\"bursts\":[");
    for (size_t i = 0; i < BURST_LENGTHS && burst_ns[i] > 0; i++)
        text_add(&text, "%s{\"messages\":%d,\"message_ns\":%.1f}", i == 0 ? "" : ",", burst_lengths[i], burst_ns[i]);
    text_add(&text, "],\"ring_message_ns\":%.1f}", ring_ns);
    file_block(BLOCK_SEARCH, 0, 0, text.bytes, text.length);
    free(text.bytes);
}

/* Returns the number of kinds that both ranks can measure. */
static int search_agree(struct search_link *link, int kinds)
{
    int other = 0;
    search_exchange(link, &kinds, &other, sizeof kinds);
    return other < kinds ? other : kinds;
}

/* Returns whether this rank's pair may measure. Pairs that share processors would wait for each other. A launcher that
 * binds each rank to one processor gives other ranks of the host other processors. */
static bool search_has_processor(void)
{
    cpu_set_t allowed;
    int processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    if (processors < 2)
        processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return offset_place_on_host() / 2 < (processors < 2 ? 1 : processors / 2);
}

/* Sleeps until all ranks come here, so that ranks which do not measure leave their processors to the others. */
static void search_wait(MPI_Comm comm)
{
    MPI_Request request;
    int found = 0;
    if (FAILED(REAL(Ibarrier)(comm, &request)))
        return;
    while (!FAILED(REAL(Test)(&request, &found, MPI_STATUS_IGNORE)) && !found)
        nanosleep(&(struct timespec){0, SEARCH_SLEEP_NS}, NULL);
}

/* Measures with a peer, which also calls this. */
static void search_with(struct search_pair *pair, int peer, bool unless_same_host, double ring_ns)
{
    struct search_cost costs[SEARCH_KINDS];
    struct search_link *link = &pair->link;
    double burst_ns[BURST_LENGTHS] = {0};
    uint64_t host = host_hash(), other_host = 0;
    link->peer = peer;
    link->receives = world.rank > peer;
    link->sends = !link->receives;
    if (!search_exchange(link, &host, &other_host, sizeof host) || (unless_same_host && host == other_host))
        return;
    bool same_host = host == other_host;
    int possible = may_hold_messages(same_host) ? SEARCH_KINDS : SEARCH_UNEXPECTED;
    int kinds = search_agree(link, search_has_processor() ? possible : 0);
    if (kinds == 0)
        return;
    link->is_stuck = false;
    for (size_t i = 0; i < SEARCH_QUEUES && (int)search_queues[i].first < kinds; i++) {
        /* Bursts also allocate the library's entries. */
        if (search_is_posted(search_queues[i].first))
            burst_measure(pair, burst_ns);
        search_measure(pair, &search_queues[i], costs);
        kinds = search_agree(link, link->is_stuck ? (int)search_queues[i].first : kinds);
    }
    if (link->receives)
        search_write(same_host, costs, kinds, burst_ns, ring_ns);
}

/* MPICH 4.0 over UCX may wait forever in MPI_Finalize if the first messages between hosts were sent shortly before.
 * MPICH 5.0 does not. */
static bool may_hang_in_finalize(void)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
    return !on_one_host() && strcmp(transport, "ucx") == 0;
#else
    return false;
#endif
}

/* Frees the kept receives, before MPI_Finalize. */
static void search_end(void)
{
    for (MPI_Request *request = search_kept.requests; request < search_kept.end; request++)
        REAL(Wait)(request, MPI_STATUS_IGNORE);
    free(search_kept.requests);
    search_kept.requests = search_kept.end = NULL;
}

/* Collective over the world: measures between neighbours, and between ranks half the world apart on different hosts. */
static void search_note(double ticks_per_ns)
{
    const char *wanted = getenv("MATCHPOINT_RECORD_SEARCH");
    if ((wanted != NULL && strcmp(wanted, "0") == 0) || world.size < 2 || may_hang_in_finalize() || !all_are_recorded())
        return;
    MPI_Comm comm;
    if (FAILED(REAL(Comm_dup)(library.comm_world, &comm)))
        return;
    REAL(Comm_set_errhandler)(comm, library.errors_return);
    struct search_pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL || (pair->walked = malloc(SEARCH_WALKED)) == NULL ||
        (search_kept.requests = malloc(2 * SEARCH_QUEUES * SEARCH_MOST * sizeof(MPI_Request))) == NULL) {
        log_error("no memory to measure the cost of searches; set MATCHPOINT_RECORD_SEARCH=0");
        REAL(Abort)(library.comm_world, 1); /* the other ranks wait for this one */
    }
    memset((void *)pair->walked, 1, SEARCH_WALKED); /* unwritten pages would share one page of memory */
    search_pair = pair;
    search_kept.end = search_kept.requests;
    pair->ticks_per_ns = ticks_per_ns;
    pair->link.comm = comm;
    pair->link.requests = pair->requests;
    pair->link.patience = (uint64_t)(SEARCH_PATIENCE_NS * ticks_per_ns);
    search_shuffle(pair->order, pair->restore);
    double ring_ns = ring_message_ns(pair);
    int half = world.size / 2, neighbour = world.rank ^ 1, distant = world.rank < half ? world.rank + half : world.rank - half;
    if (neighbour < world.size)
        search_with(pair, neighbour, false, ring_ns);
    search_wait(comm);
    if (half > 1 && !on_one_host()) {
        if (world.rank < 2 * half)
            search_with(pair, distant, true, ring_ns);
        search_wait(comm);
    }
    free((void *)pair->walked);
    free(pair);
    REAL(Comm_free)(&comm);
}
