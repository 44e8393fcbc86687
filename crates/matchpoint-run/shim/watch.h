/* Long unexpected queues. Posting calls are sampled. If searches of the library are long, its unexpected queue is
 * drained into the engine before each post. */

/* One posting call in this many is timed. */
#define SAMPLE 64
/* Consecutive slow calls that cause a trial drain. A preempted process has only one. */
#define SLOW_CALLS 4
/* Unexpected messages in the library that make a communicator watched: more than windows of 64 and a few others. */
#define LONG_QUEUE 72
/* Posts without a long queue that end a watch. */
#define QUIET_POSTINGS 64
/* Messages received in arrival order that end a watch: the library finds such messages at the head of its queue. */
#define IN_ORDER 32
/* A call is slow if it takes this many nanoseconds longer than the fastest. A copy of a message from cold memory
 * takes some 300 ns longer. */
#define SLOW_NS 500

static struct {
    uint64_t fastest; /* ticks */
    int slow;
} samples = {.fastest = UINT64_MAX};

static void observe_posting(struct communicator *communicator)
{
    long taken = drain(communicator);
    if (!communicator->watched)
        return;
    bool is_long = taken >= LONG_QUEUE || communicator->unexpected >= LONG_QUEUE;
    communicator->quiet = is_long ? 0 : communicator->quiet + 1;
    if (communicator->quiet > QUIET_POSTINGS || communicator->in_order > IN_ORDER) {
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
    communicator->quiet = communicator->in_order = 0;
    overflow.watched++;
    overflow.counts.watches++;
    set_paths();
}

/* Evaluates the duration of a post or a probe. */
static __attribute__((noinline)) void evaluate_sample(uint64_t took, MPI_Comm comm)
{
    if (overflow.core == NULL || !overflow.may_watch) {
        hot_state.until_sample = INT_MAX;
        return;
    }
    hot_state.until_sample = SAMPLE;
    if (took < samples.fastest)
        samples.fastest = took;
    if (took < samples.fastest + (uint64_t)(SLOW_NS * overflow.ticks_per_ns)) {
        samples.slow = 0;
        return;
    }
    hot_state.until_sample = 1;
    if (++samples.slow >= SLOW_CALLS) {
        samples.slow = 0;
        hot_state.until_sample = SAMPLE;
        try_watch(comm);
    }
}
