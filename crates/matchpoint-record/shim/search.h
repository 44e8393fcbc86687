/* What the MPI library pays for an entry that it compares, measured where the application runs: within MPI_Init, between pairs
 * of ranks on a communicator of their own. The upper rank of a pair receives and measures, the lower one sends.
 *
 * The searches are timed at their best and at their worst. At best, entries lie in memory one after the other, and caches are
 * warm. At worst, entries lie in a random order, as where those before them were freed in another order than they were made
 * in, and caches were used for something else. */

#define SEARCH_MOST 1024
#define SEARCH_REPEATS 3
/* Bytes that are walked through between two searches: more than the caches of a core hold. */
#define SEARCH_WALKED ((size_t)2 << 20)
/* Polls after which a process that waits lets another have the processor: its peer may be that other. */
#define SEARCH_POLLS 50

enum search_tag { SEARCH_GO, SEARCH_FIRST, SEARCH_LAST = SEARCH_FIRST + SEARCH_MOST };
enum search_kind { SEARCH_POSTED, SEARCH_POSTED_ANY, SEARCH_UNEXPECTED, SEARCH_UNEXPECTED_ANY, SEARCH_KINDS };

static const char *const search_names[SEARCH_KINDS] = {"posted", "posted_any", "unexpected", "unexpected_any"};
static const int search_lengths[] = {16, 128, SEARCH_MOST};
#define SEARCH_LENGTHS (sizeof search_lengths / sizeof *search_lengths)

/* Of one kind of search, in nanoseconds. */
struct search_cost {
    double empty_ns;                 /* of the call, with an empty queue */
    double best_ns[SEARCH_LENGTHS];  /* of an entry */
    double worst_ns;                 /* of an entry of the longest queue */
};

struct search_pair {
    MPI_Comm comm;
    int peer;
    bool receives;
    char in, out;
    volatile char *walked;
    MPI_Request requests[SEARCH_MOST];
    int order[SEARCH_MOST]; /* in which entries are removed */
};

static void search_send(struct search_pair *pair, int tag)
{
    REAL(Send)(&pair->out, 1, library.byte, pair->peer, tag, pair->comm);
}

static void search_relax(int *polls)
{
    if (++*polls % SEARCH_POLLS == 0)
        sched_yield();
}

/* Blocking receives of some libraries keep the processor while they wait. */
static void search_receive(struct search_pair *pair, int tag)
{
    MPI_Request request;
    int found = 0, polls = 0;
    REAL(Irecv)(&pair->in, 1, library.byte, pair->peer, tag, pair->comm, &request);
    while (!FAILED(REAL(Test)(&request, &found, MPI_STATUS_IGNORE)) && !found)
        search_relax(&polls);
}

static int search_source(const struct search_pair *pair, enum search_kind kind)
{
    return kind == SEARCH_POSTED_ANY || kind == SEARCH_UNEXPECTED_ANY ? MPI_ANY_SOURCE : pair->peer;
}

static bool is_posted(enum search_kind kind)
{
    return kind == SEARCH_POSTED || kind == SEARCH_POSTED_ANY;
}

/* So many entries that what is searched for does not match. */
static void search_fill(struct search_pair *pair, enum search_kind kind, int length)
{
    for (int i = 0; i < length; i++)
        if (is_posted(kind) && pair->receives)
            REAL(Irecv)(&pair->in, 1, library.byte, search_source(pair, kind), SEARCH_FIRST + i, pair->comm,
                        &pair->requests[i]);
        else if (!is_posted(kind) && !pair->receives)
            search_send(pair, SEARCH_FIRST + i);
}

static void search_empty(struct search_pair *pair, enum search_kind kind, int length, bool shuffles)
{
    if (!pair->receives)
        return;
    for (int i = 0; i < SEARCH_MOST; i++) {
        int at = shuffles ? pair->order[i] : i;
        if (at >= length)
            continue;
        if (is_posted(kind)) {
            REAL(Cancel)(&pair->requests[at]);
            REAL(Wait)(&pair->requests[at], MPI_STATUS_IGNORE);
        } else {
            search_receive(pair, SEARCH_FIRST + at);
        }
    }
}

/* The message comes once its receive is posted. The last test finds it, and searches. */
static uint64_t search_time_posted(struct search_pair *pair)
{
    MPI_Request request;
    uint64_t took;
    int found = 0, polls = 0;
    REAL(Irecv)(&pair->in, 1, library.byte, pair->peer, SEARCH_LAST, pair->comm, &request);
    search_send(pair, SEARCH_GO);
    do {
        uint64_t before = ticks();
        if (FAILED(REAL(Test)(&request, &found, MPI_STATUS_IGNORE)))
            return 0;
        took = ticks() - before;
        search_relax(&polls);
    } while (!found);
    return took;
}

/* In an order that is not fetched ahead: a stream passes by what caches hold. The step shares no factor with the lines. */
static void search_walk(struct search_pair *pair)
{
    for (size_t line = 0, lines = SEARCH_WALKED / 64; line < lines; line++)
        pair->walked[line * 40503 % lines * 64]++;
}

/* The message is there before its receive is posted, which searches. */
static uint64_t search_time_unexpected(struct search_pair *pair, enum search_kind kind, bool cold)
{
    MPI_Request request;
    int found = 0, polls = 0;
    search_send(pair, SEARCH_GO);
    while (!found) {
        if (FAILED(REAL(Iprobe)(pair->peer, SEARCH_LAST, pair->comm, &found, MPI_STATUS_IGNORE)))
            return 0;
        search_relax(&polls);
    }
    if (cold)
        search_walk(pair);
    uint64_t before = ticks();
    REAL(Irecv)(&pair->in, 1, library.byte, search_source(pair, kind), SEARCH_LAST, pair->comm, &request);
    uint64_t took = ticks() - before;
    REAL(Wait)(&request, MPI_STATUS_IGNORE);
    return took;
}

/* Ticks of one search: the shortest of some, for whatever else runs only ever adds. */
static uint64_t search_time(struct search_pair *pair, enum search_kind kind, bool cold)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < SEARCH_REPEATS; i++) {
        if (!pair->receives) {
            search_receive(pair, SEARCH_GO);
            search_send(pair, SEARCH_LAST);
            continue;
        }
        if (cold && is_posted(kind))
            search_walk(pair);
        uint64_t took = is_posted(kind) ? search_time_posted(pair) : search_time_unexpected(pair, kind, cold);
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

/* At best, for each length. */
static void search_measure_best(struct search_pair *pair, enum search_kind kind, double ticks_per_ns,
                                struct search_cost *cost)
{
    search_time(pair, kind, false); /* the code itself is warm from here on */
    uint64_t without = search_time(pair, kind, false);
    cost->empty_ns = (double)without / ticks_per_ns;
    for (size_t i = 0; i < SEARCH_LENGTHS; i++) {
        int length = search_lengths[i];
        search_fill(pair, kind, length);
        cost->best_ns[i] = ((double)search_time(pair, kind, false) - (double)without) / length / ticks_per_ns;
        search_empty(pair, kind, length, false);
    }
}

/* At worst, for the longest. */
static void search_measure_worst(struct search_pair *pair, enum search_kind kind, double ticks_per_ns,
                                 struct search_cost *cost)
{
    uint64_t without = search_time(pair, kind, false);
    search_fill(pair, kind, SEARCH_MOST);
    search_empty(pair, kind, SEARCH_MOST, true);
    search_fill(pair, kind, SEARCH_MOST);
    cost->worst_ns = ((double)search_time(pair, kind, true) - (double)without) / SEARCH_MOST / ticks_per_ns;
    search_empty(pair, kind, SEARCH_MOST, false);
}

static void search_order(int *order)
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
}

/* Providers of libfabric keep few unexpected messages of a sender, and then take no more. */
static bool may_hold_messages(bool same_host)
{
    bool passes_memory = same_host && !is_memory_off() && strcmp(transport, "cm/ofi") != 0;
    return passes_memory || !is_loaded("/libfabric");
}

static void search_write(bool same_host, const struct search_cost *costs, int kinds)
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
    text_add(&text, "}");
    file_block(BLOCK_SEARCH, 0, 0, text.bytes, text.length);
    free(text.bytes);
}

/* Measures with the peer, which calls this too. */
static void search_of_pair(struct search_pair *pair, bool unless_same_host, double ticks_per_ns)
{
    struct search_cost costs[SEARCH_KINDS];
    uint64_t own = host_hash(), other = 0;
    pair->receives = world.rank > pair->peer;
    if (FAILED(REAL(Sendrecv)(&own, sizeof own, library.byte, pair->peer, SEARCH_GO, &other, sizeof other, library.byte,
                              pair->peer, SEARCH_GO, pair->comm, MPI_STATUS_IGNORE)) ||
        (unless_same_host && own == other))
        return;
    int kinds = may_hold_messages(own == other) ? SEARCH_KINDS : SEARCH_UNEXPECTED;
    for (int kind = 0; kind < kinds; kind++)
        search_measure_best(pair, (enum search_kind)kind, ticks_per_ns, &costs[kind]);
    for (int kind = 0; kind < kinds; kind++)
        search_measure_worst(pair, (enum search_kind)kind, ticks_per_ns, &costs[kind]);
    if (pair->receives)
        search_write(own == other, costs, kinds);
}

/* Collective over the world: neighbours, and ranks that are half the world apart, if they are on different hosts. */
static void search_note(double ticks_per_ns)
{
    const char *wanted = getenv("MATCHPOINT_RECORD_SEARCH");
    if ((wanted != NULL && strcmp(wanted, "0") == 0) || world.size < 2 || !all_are_recorded())
        return;
    MPI_Comm comm;
    if (FAILED(REAL(Comm_dup)(library.comm_world, &comm)))
        return;
    REAL(Comm_set_errhandler)(comm, library.errors_return);
    struct search_pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL || (pair->walked = calloc(1, SEARCH_WALKED)) == NULL) {
        complain("no memory to measure what a search costs");
        REAL(Abort)(library.comm_world, 1); /* the other ranks wait for this one */
    }
    pair->comm = comm;
    search_order(pair->order);
    int half = world.size / 2;
    if ((pair->peer = world.rank ^ 1) < world.size)
        search_of_pair(pair, false, ticks_per_ns);
    pair->peer = world.rank < half ? world.rank + half : world.rank - half;
    if (half > 1 && world.rank < 2 * half)
        search_of_pair(pair, true, ticks_per_ns);
    free((void *)pair->walked);
    free(pair);
    REAL(Comm_free)(&comm);
}
