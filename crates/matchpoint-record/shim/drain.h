/* The drain: one thread that reads the lanes and writes the rank file. */

/* Maximum time that calls stay in memory before a write, if the calls do not fill a block. A killed process loses
 * calls in memory. The time starts short and doubles with each write, so that a process killed early has also written
 * calls. */
#define WRITE_AFTER_NS 1000000000ll
#define DRAIN_SLEEP_NS 100000000ll

static struct {
    pthread_t thread;
    pthread_mutex_t mutex; /* held while lanes are read: by the drain, or by a process that ends */
    _Atomic bool stop;
    bool ends; /* no more calls follow */
    bool runs;
    uint64_t calls, left_out, too_long;
    struct clock_pair last_pair;
    struct clock_pair first_pair;
    int64_t write_after_ns;
    int64_t requested_ns; /* time of the last request for queue lengths */
} drain = {.mutex = PTHREAD_MUTEX_INITIALIZER, .write_after_ns = DRAIN_SLEEP_NS / 2};

static void write_clock(struct clock_pair now)
{
    drain.last_pair = now;
    file_block(BLOCK_CLOCK, 0, 0, &drain.last_pair, sizeof drain.last_pair);
}

static void block_flush(struct lane *lane)
{
    struct block *block = lane->block;
    if (block->length == 0 || (block->remark_follows && !drain.ends))
        return;
    /* After the first omitted block, all others are omitted too: the written calls have no gaps. */
    bool written = file.limit_ticks == 0 && block_length(block) <= BLOCK_RAW_MAX && block_join(block) &&
                   file_block(BLOCK_CALLS, lane->thread, block->calls, block->bytes, block_length(block)) && !file.failed;
    if (written)
        drain.calls += block->calls;
    else
        drain.left_out += block->calls;
    if (!written && file.limit_ticks == 0)
        file.limit_ticks = block->first_ticks;
    block->length = block->times_length = 0;
    block->calls = 0;
    block->has_queues_remark = false;
}

static void take_record(struct lane *lane, const uint64_t *words)
{
    if (block_length(lane->block) >= BLOCK_BYTES)
        block_flush(lane);
    /* A record that may not fit begins a new block. */
    uint64_t count = words[WORD_HEAD] >> 16;
    if (block_length(lane->block) + count * 10 > BLOCK_RAW_MAX)
        block_flush(lane);
    bool is_first = lane->block->length == 0;
    if (!encode(lane->block, words))
        drain.left_out++;
    if (is_first && block_length(lane->block) > BLOCK_RAW_MAX) {
        drain.too_long++; /* a record with millions of requests, which readers reject */
        lane->block->length = lane->block->times_length = lane->block->calls = 0;
    }
}

static void lane_read(struct lane *lane)
{
    /* `words` is read once, because the writing thread writes to its cache line. */
    const uint64_t *ring = lane->words;
    uint64_t at = atomic_load_explicit(&lane->consumed, memory_order_relaxed);
    uint64_t end = atomic_load_explicit(&lane->published, memory_order_acquire);
    if (at != end && lane->block == NULL && (lane->block = calloc(1, sizeof *lane->block)) == NULL)
        return;
    while (at != end) {
        const uint64_t *words = ring + at % LANE_WORDS;
        switch (words[WORD_HEAD] & CODE_MASK) {
        case CODE_SKIP:
            at += LANE_WORDS - at % LANE_WORDS;
            break;
        case CODE_OUTSIDE: {
            uint64_t *outside = (uint64_t *)(uintptr_t)words[1];
            take_record(lane, outside);
            free(outside);
            at += 2;
            break;
        }
        default:
            take_record(lane, words);
            at += words[WORD_HEAD] >> 16;
        }
        atomic_store_explicit(&lane->consumed, at, memory_order_release);
    }
}

/* Requests a remark on the library's queues after the next call of any thread. The interval is shorter than that of
 * block writes, so that a remark ends a block, and its data is recent. */
#define REQUEST_EVERY_NS 900000000

static void request_queues(void)
{
    int64_t now = monotonic_ns();
    if (!atomic_load(&queues_on) || now - drain.requested_ns < REQUEST_EVERY_NS)
        return;
    drain.requested_ns = now;
    atomic_store(&queues_due, true);
    for (struct lane *lane = atomic_load_explicit(&lanes, memory_order_acquire); lane != NULL; lane = lane->next)
        if (atomic_load_explicit(&lane->state, memory_order_acquire) == LANE_USED)
            atomic_store_explicit(&lane->limit, 0, memory_order_relaxed);
}

static uint64_t code_of(const char *name)
{
    uint64_t code = 0;
    while (code < FUNCTIONS && strcmp(function_of(code)->name + strlen("MPI_"), name) != 0)
        code++;
    return code;
}

/* Reports a thread that stays in one call for long, for example in a deadlock. If the process is then killed, the
 * file has no other information about the call. The report is written once, after all earlier calls of the thread.
 * Called once a second. */
static void report_within(struct lane *lane, uint64_t now, uint64_t old)
{
    uint64_t words = atomic_load_explicit(&lane->published, memory_order_relaxed);
    const char *name = inside(lane) == 0 ? NULL : current_function(lane);
    if (name == NULL || words != lane->seen.written || lane->seen.since == 0) {
        lane->seen.written = words;
        lane->seen.since = name == NULL ? 0 : now;
        lane->seen.is_reported = false;
        return;
    }
    if (lane->seen.is_reported || now - lane->seen.since < old / 2 || (lane->block != NULL && lane->block->length > 0))
        return;
    uint64_t values[] = {lane->seen.since, code_of(name)};
    lane->seen.is_reported = true;
    if (values[1] < FUNCTIONS)
        file_block(BLOCK_WITHIN, lane->thread, 0, values, sizeof values);
}

/* Reads all lanes. Once a second, and more often at first, writes their calls to the file, followed by the time until
 * which the file is complete. So a reader that follows the file never sees a call before earlier calls of other
 * threads. */
static void drain_once(bool all)
{
    struct clock_pair pair = clock_pair();
    uint64_t now = pair.ticks;
    double elapsed = (double)(pair.ns - drain.first_pair.ns);
    double ticks_per_ns = elapsed > 0 ? (double)(now - drain.first_pair.ticks) / elapsed : 1.0;
    uint64_t old = (uint64_t)((double)WRITE_AFTER_NS * ticks_per_ns);
    bool due = all || pair.ns - drain.last_pair.ns > drain.write_after_ns;
    for (struct lane *lane = atomic_load_explicit(&lanes, memory_order_acquire); lane != NULL; lane = lane->next) {
        int state = atomic_load_explicit(&lane->state, memory_order_acquire);
        if (state != LANE_USED && state != LANE_ENDED)
            continue;
        bool left = state == LANE_ENDED;
        lane_read(lane);
        due |= lane->block != NULL && lane->block->has_queues_remark;
        if (left) {
            if (lane->block != NULL)
                block_flush(lane);
            munmap(lane->words, LANE_WORDS * 8);
            lane->words = NULL;
            atomic_store_explicit(&lane->state, LANE_FREE, memory_order_release);
        }
    }
    if (!due)
        return;
    drain.write_after_ns = drain.write_after_ns < WRITE_AFTER_NS / 2 ? drain.write_after_ns * 2 : WRITE_AFTER_NS;
    for (struct lane *lane = atomic_load_explicit(&lanes, memory_order_acquire); lane != NULL; lane = lane->next) {
        if (lane->block != NULL)
            block_flush(lane);
        if (!all && atomic_load_explicit(&lane->state, memory_order_acquire) == LANE_USED)
            report_within(lane, now, old);
    }
    write_clock(pair);
}

static void *drain_run(void *unused)
{
    (void)unused;
    while (!atomic_load(&drain.stop)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += DRAIN_SLEEP_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        atomic_store(&drain_sleeps, true);
        sem_timedwait(&drain_wanted, &until);
        atomic_store(&drain_sleeps, false);
        while (sem_trywait(&drain_wanted) == 0)
            ;
        pthread_mutex_lock(&drain.mutex);
        drain_once(false);
        request_queues();
        pthread_mutex_unlock(&drain.mutex);
    }
    return NULL;
}

/* The drain blocks all signals, so that the application's threads handle them. */
static bool drain_start(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    drain.runs = pthread_create(&drain.thread, NULL, drain_run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return drain.runs;
}

static void drain_stop(void)
{
    if (!drain.runs)
        return;
    atomic_store(&drain.stop, true);
    sem_post(&drain_wanted);
    pthread_join(drain.thread, NULL);
    drain.runs = false;
}
