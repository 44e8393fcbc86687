/* Long unexpected queues: posting calls are sampled, and where the library searches long, its queue is drained into the
 * engine before each posting. */

/* One posting call in so many is timed. */
#define SAMPLE 16
/* Slow calls in a row that make a trial drain: a process that is preempted has one. */
#define SLOW_CALLS 3
/* Messages in the library's unexpected queue that make a communicator watched. */
#define LONG_QUEUE 32
/* Postings without a long queue that end a watch. */
#define QUIET_POSTINGS 64
/* A call is slow that takes so many nanoseconds more than the fastest. */
#define SLOW_NS 300

static struct {
    uint64_t fastest; /* ticks */
    int slow;
} samples = {.fastest = UINT64_MAX};

static void observe_posting(struct communicator *communicator)
{
    long taken = drain(communicator);
    if (!communicator->watched)
        return;
    if (taken >= LONG_QUEUE || communicator->held >= LONG_QUEUE)
        communicator->quiet = 0;
    else if (++communicator->quiet > QUIET_POSTINGS) {
        communicator->watched = false;
        overflow.watched--;
        set_paths();
    }
}

static void try_watch(MPI_Comm comm)
{
    struct communicator *communicator = find_communicator(comm);
    if (communicator == NULL || communicator->watched || drain(communicator) < LONG_QUEUE)
        return;
    communicator->watched = true;
    communicator->quiet = 0;
    overflow.watched++;
    overflow.counts.watches++;
    set_paths();
}

/* A posting call or a probe took so long. */
static __attribute__((noinline)) void note_sample(uint64_t took, MPI_Comm comm)
{
    if (overflow.core == NULL || !overflow.may_watch) {
        always.until_sample = INT_MAX;
        return;
    }
    always.until_sample = SAMPLE;
    if (took < samples.fastest)
        samples.fastest = took;
    if (took < samples.fastest + (uint64_t)(SLOW_NS * overflow.ticks_per_ns)) {
        samples.slow = 0;
        return;
    }
    always.until_sample = 1;
    if (++samples.slow >= SLOW_CALLS) {
        samples.slow = 0;
        always.until_sample = SAMPLE;
        try_watch(comm);
    }
}
