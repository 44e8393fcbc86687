/* Measurement of the limits. At its start, each process measures the library's cost of an entry in a search, and the
 * cost of a message through the engine. Overflow begins at the queue length where both are equal. Unexpected queues
 * are watched only if their entries have a cost.
 *
 * The process sends messages to itself on the private communicator: waiting for a neighbour would cost every job
 * milliseconds. MPICH keeps these messages in a separate list, which it searches like the others. */

/* Receives in a search, and timed messages, of which the fastest counts. */
#define SEARCHED 256
#define TIMED 24
/* Bounds of the limit. Benchmarks and many programs post windows of 64 receives with messages in order, next to a few
 * others: the library finds each at the head. */
#define LEAST_LIMIT 72
#define MOST_LIMIT 256
/* The highest limit with many senders. It is also the limit if libfabric may transport messages: an overflowed message
 * then costs some 700 ns more, which messages to self do not show. */
#define NETWORK_LIMIT 1024
/* A smaller difference per message, in nanoseconds, is noise. */
#define NOISE_NS 0.2

/* Times one message through the unexpected queue and the engine. UINT64_MAX: MPI_Improbe did not find the message. */
static uint64_t time_overflow(struct search_link *link)
{
    MPI_Request request, sent;
    MPI_Message message;
    MPI_Status status;
    struct core_envelope envelope = {0, 0, 0};
    uint64_t id;
    int found = 0;
    uint64_t before = ticks();
    REAL(Isend)(&link->out, 1, library.byte, 0, 0, link->comm, &sent);
    overflow.functions->post(overflow.core, 1, &envelope, &id);
    for (int polls = 0; !found && polls < 1000; polls++)
        REAL(Improbe)(MPI_ANY_SOURCE, MPI_ANY_TAG, link->comm, &found, &message, &status);
    if (found) {
        overflow.functions->arrive(overflow.core, 2, &envelope, &id);
        REAL(Imrecv)(&link->in, 1, library.byte, &message, &request);
    } else {
        overflow.functions->cancel(overflow.core, 1, &envelope);
        REAL(Irecv)(&link->in, 1, library.byte, 0, 0, link->comm, &request);
    }
    REAL(Wait)(&request, MPI_STATUS_IGNORE);
    uint64_t took = ticks() - before;
    REAL(Wait)(&sent, MPI_STATUS_IGNORE);
    return found ? took : UINT64_MAX;
}

static double fastest_overflow(struct search_link *link)
{
    uint64_t fastest = UINT64_MAX;
    for (int i = 0; i < TIMED; i++) {
        uint64_t took = time_overflow(link);
        fastest = took < fastest ? took : fastest;
    }
    return (double)fastest;
}

/* Returns the cost of an entry in nanoseconds. `without`: ticks of a search in an empty queue. */
static double entry_ns(struct search_link *link, enum search_kind kind, double without)
{
    search_fill(link, kind, 0, SEARCHED);
    double with = (double)search_time(link, kind, TIMED);
    search_empty(link, kind, SEARCHED);
    return (with - without) / SEARCHED / overflow.ticks_per_ns;
}

/* Returns the fastest probe without a message, in ticks. UINT64_MAX: each found a message. */
static uint64_t time_probe(MPI_Comm comm)
{
    uint64_t fastest = UINT64_MAX;
    for (int i = 0; i < TIMED; i++) {
        int found = 0;
        uint64_t before = ticks();
        REAL(Iprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
        uint64_t took = ticks() - before;
        fastest = !found && took < fastest ? took : fastest;
    }
    return fastest;
}

/* Returns by how many nanoseconds a probe of MPI_COMM_WORLD takes longer than a probe of the private communicator: a
 * probe of Open MPI visits the queue of every sender. */
static double visit_ns(void)
{
    uint64_t world = time_probe(library.comm_world), own = time_probe(overflow.private);
    return world == UINT64_MAX || own == UINT64_MAX || world < own ? 0 : (double)(world - own) / overflow.ticks_per_ns;
}

/* Returns no limit if entries cost nothing. `visit_cost`: see `visit_ns`. */
static long limit_of(double entry, double overflow_cost, double visit_cost)
{
    if (entry < NOISE_NS)
        return LONG_MAX;
    if (overflow.eager_bytes == 0)
        return NETWORK_LIMIT;
    double limit = overflow_cost / entry;
    limit = (limit < LEAST_LIMIT ? LEAST_LIMIT : limit > MOST_LIMIT ? MOST_LIMIT : limit) + visit_cost / entry;
    return limit > NETWORK_LIMIT ? NETWORK_LIMIT : (long)limit;
}

static void measure_limits(bool has_world)
{
    MPI_Request requests[SEARCHED];
    struct search_link link = {.comm = overflow.private, .receives = true, .sends = true, .requests = requests};
    hot_state.limit_named = hot_state.limit_any = 32;
    if (!overflow.has_private)
        return;
    double posted = (double)search_time(&link, SEARCH_POSTED, TIMED);
    double unexpected = (double)search_time(&link, SEARCH_UNEXPECTED, TIMED);
    double overflow_ns = (fastest_overflow(&link) - posted) / overflow.ticks_per_ns;
    double named = entry_ns(&link, SEARCH_POSTED, posted), any = entry_ns(&link, SEARCH_POSTED_ANY, posted);
    overflow.may_watch = entry_ns(&link, SEARCH_UNEXPECTED, unexpected) >= NOISE_NS;
    overflow.counts.entry_named_ns = named;
    overflow.counts.entry_any_ns = any;
    overflow.counts.overflow_ns = overflow_ns;
    double visit_cost = has_world ? visit_ns() : 0;
    hot_state.limit_named = limit_of(named, overflow_ns, visit_cost);
    hot_state.limit_any = limit_of(any, overflow_ns, visit_cost);
}
