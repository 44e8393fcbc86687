/* Where overflow begins: as the process starts, it measures what the library pays for an entry that it searches, and what a
 * message costs that goes through the engine. Overflow begins at the depth where both are equal. Unexpected queues are watched
 * only if their entries cost something, too.
 *
 * The messages are to the process itself, on the private communicator. MPICH keeps those in a list of their own; that list is
 * searched as the lists of other messages are. */

/* Receives that are searched, and messages that are timed, of which the fastest counts. */
#define SEARCHED 256
#define TIMED 24
/* Bounds of the result. Benchmarks and many programs post windows of 64 receives, whose messages arrive in order: the library
 * finds each at the front. */
#define LEAST_LIMIT 64
#define MOST_LIMIT 256
/* The result where libfabric may carry messages: there a message that overflows costs some 700 ns more, which messages to oneself
 * do not show. */
#define NETWORK_LIMIT 1024
/* A message that costs so many nanoseconds less or more is noise. */
#define NOISE_NS 0.2

struct trial {
    MPI_Comm comm;
    char in, out;
};

/* One message to a receive that is posted. */
static uint64_t time_posted(struct trial *trial, int source)
{
    MPI_Request requests[2];
    REAL(Irecv)(&trial->in, 1, library.byte, source, 0, trial->comm, &requests[0]);
    uint64_t before = ticks();
    REAL(Isend)(&trial->out, 1, library.byte, 0, 0, trial->comm, &requests[1]);
    REAL(Wait)(&requests[0], MPI_STATUS_IGNORE);
    uint64_t took = ticks() - before;
    REAL(Wait)(&requests[1], MPI_STATUS_IGNORE);
    return took;
}

/* The same by way of the unexpected queue and the engine. */
static uint64_t time_overflow(struct trial *trial)
{
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    struct core_envelope envelope = {0, 0, 0};
    uint64_t id;
    int found = 0;
    uint64_t before = ticks();
    REAL(Isend)(&trial->out, 1, library.byte, 0, 0, trial->comm, &requests[1]);
    overflow.functions->post(overflow.core, 1, &envelope, &id);
    for (int polls = 0; !found && polls < 1000; polls++)
        REAL(Improbe)(MPI_ANY_SOURCE, MPI_ANY_TAG, trial->comm, &found, &message, &status);
    if (found) {
        overflow.functions->arrive(overflow.core, 2, &envelope, &id);
        REAL(Imrecv)(&trial->in, 1, library.byte, &message, &requests[0]);
    } else {
        overflow.functions->cancel(overflow.core, 1);
        REAL(Irecv)(&trial->in, 1, library.byte, 0, 0, trial->comm, &requests[0]);
    }
    REAL(Wait)(&requests[0], MPI_STATUS_IGNORE);
    uint64_t took = ticks() - before;
    REAL(Wait)(&requests[1], MPI_STATUS_IGNORE);
    return found ? took : UINT64_MAX;
}

static double fastest_ns(struct trial *trial, int source, uint64_t (*time)(struct trial *, int))
{
    uint64_t fastest = UINT64_MAX;
    for (int i = 0; i < TIMED; i++) {
        uint64_t took = time(trial, source);
        fastest = took < fastest ? took : fastest;
    }
    return (double)fastest / overflow.ticks_per_ns;
}

static uint64_t time_overflow_of(struct trial *trial, int source)
{
    (void)source;
    return time_overflow(trial);
}

/* What an entry costs that a message is compared with. */
static double entry_ns(struct trial *trial, int source, double without)
{
    MPI_Request requests[SEARCHED];
    for (int i = 0; i < SEARCHED; i++)
        REAL(Irecv)(&trial->in, 1, library.byte, source, i + 1, trial->comm, &requests[i]);
    double with = fastest_ns(trial, source, time_posted);
    for (int i = 0; i < SEARCHED; i++) {
        REAL(Cancel)(&requests[i]);
        REAL(Wait)(&requests[i], MPI_STATUS_IGNORE);
    }
    return (with - without) / SEARCHED;
}

/* One message that waits for its receive. */
static uint64_t time_unexpected(struct trial *trial, int source)
{
    MPI_Request requests[2];
    REAL(Isend)(&trial->out, 1, library.byte, 0, 0, trial->comm, &requests[1]);
    uint64_t before = ticks();
    REAL(Irecv)(&trial->in, 1, library.byte, source, 0, trial->comm, &requests[0]);
    REAL(Wait)(&requests[0], MPI_STATUS_IGNORE);
    uint64_t took = ticks() - before;
    REAL(Wait)(&requests[1], MPI_STATUS_IGNORE);
    return took;
}

/* What an entry costs that a receive is compared with. */
static double unexpected_entry_ns(struct trial *trial)
{
    MPI_Request requests[SEARCHED];
    double without = fastest_ns(trial, 0, time_unexpected);
    for (int i = 0; i < SEARCHED; i++)
        REAL(Isend)(&trial->out, 1, library.byte, 0, i + 1, trial->comm, &requests[i]);
    double with = fastest_ns(trial, 0, time_unexpected);
    for (int i = 0; i < SEARCHED; i++) {
        REAL(Recv)(&trial->in, 1, library.byte, 0, i + 1, trial->comm, MPI_STATUS_IGNORE);
        REAL(Wait)(&requests[i], MPI_STATUS_IGNORE);
    }
    return (with - without) / SEARCHED;
}

/* No limit where a longer queue costs nothing. */
static long limit_of(double entry, double overflow_cost)
{
    if (entry < NOISE_NS)
        return LONG_MAX;
    if (overflow.eager_bytes == 0)
        return NETWORK_LIMIT;
    double limit = overflow_cost / entry;
    return limit < LEAST_LIMIT ? LEAST_LIMIT : limit > MOST_LIMIT ? MOST_LIMIT : (long)limit;
}

static void measure_limits(void)
{
    struct trial trial = {.comm = overflow.private};
    always.limit_named = always.limit_any = 32;
    if (!overflow.has_private)
        return;
    double posted = fastest_ns(&trial, 0, time_posted), through = fastest_ns(&trial, 0, time_overflow_of);
    double named = entry_ns(&trial, 0, posted), any = entry_ns(&trial, MPI_ANY_SOURCE, posted);
    overflow.may_watch = unexpected_entry_ns(&trial) >= NOISE_NS;
    overflow.counts.entry_named_ns = named;
    overflow.counts.entry_any_ns = any;
    overflow.counts.overflow_ns = through - posted;
    always.limit_named = limit_of(named, through - posted);
    always.limit_any = limit_of(any, through - posted);
}
