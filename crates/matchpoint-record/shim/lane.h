/* A lane: the ring that one thread writes its calls to, and the drain reads. Nobody else touches it, so neither waits for
 * a lock; a call is words in a row, seen by the drain once `published` has passed them. */

/* 2 MiB: some 32 000 calls. The drain is woken at half of it: where there is no core to spare, it takes one from a process
 * that polls, and that seldom rather than often. */
#define LANE_WORDS ((uint64_t)1 << 18)
#define LANE_WAKE (LANE_WORDS / 2)

/* Words of a record before its fields. */
enum { WORD_HEAD, WORD_ENTER, WORD_LEAVE, WORD_FIELDS };

/* Codes that are not functions, but say what the drain should do. */
#define CODE_SKIP 0x7fff    /* nothing up to the end of the ring */
#define CODE_OUTSIDE 0x7ffe /* the record lies in memory of its own, whose address is the next word */

enum lane_state {
    LANE_FREE,    /* its thread has ended, and all of it was read: the next thread takes it */
    LANE_CLAIMED, /* by a thread that makes it ready */
    LANE_USED,
    LANE_LEFT, /* its thread has ended */
};

/* The record's function is below these bits; this one says that a remark on the call comes next. */
#define CODE_MASK 0x7fff
#define REMARK_FOLLOWS 0x8000

/* What two threads write lies in lines of its own; processors fetch lines in pairs. */
#define APART 128

struct lane {
    /* The writer's: the first cache line is all that most calls look at. The drain reads `published` ten times a second, and
     * nothing else there while it takes records: each time it looked, the writer's next call would have to get the line back. */
    uint64_t *words;
    _Atomic uint64_t published; /* words written */
    /* Words that may be written before there is something else to do: see `lane_wait`. The drain makes it 0 to be heard by
     * the writer. */
    _Atomic uint64_t limit;
    uint64_t *outside; /* a record that is too long for the ring, as it is written; or LANE_ASKED */
    _Atomic uintptr_t inside; /* where the stack was as this thread entered a call of MPI; 0 outside */
    _Atomic uint32_t doing;   /* which call: the lower half of the address of its name. The drain looks at both */
    uint32_t types_freed;     /* when a type's size was last asked for */
    MPI_Datatype type;        /* that type */
    uint64_t size;            /* its size */
    bool calls_back;  /* the call that it is inside of holds no room, and what its callbacks call is recorded */
    unsigned called_back;
    uint64_t woken; /* words written when the drain was last woken */
    uint64_t waited_ns;
    MPI_Status *statuses;
    size_t statuses_room;
    /* Between both. */
    _Alignas(APART) _Atomic uint64_t consumed;
    _Atomic int state;
    /* The drain's. */
    _Alignas(APART) struct lane *next;
    uint16_t thread;
    struct block *block;
    struct {
        uint64_t written; /* words, when the thread was seen */
        uint64_t since;   /* ticks, if it was within a call */
        bool told;
    } seen;
};

_Static_assert(offsetof(struct lane, calls_back) <= 64, "what most calls look at is one cache line");

/* The record that is written now shall be followed by a remark on the library's queues: see queues.h. */
static uint64_t lane_asked[1];
#define LANE_ASKED lane_asked

FUNCTION(queues, "+queues", "iii");
static _Atomic bool queues_on;  /* there is something to tell */
static _Atomic bool queues_due; /* by any thread */
static void note_queues(struct lane *lane, uint64_t remark_follows);

/* Given up at the end of the process, so that other libraries' destructors may still call MPI. */
enum recording { RECORDING_NOT_YET, RECORDING_BEGINS, RECORDING_ON, RECORDING_OVER };
static _Atomic int recording;

static _Atomic(struct lane *) lanes;
static _Atomic unsigned lanes_made;
static _Atomic uint64_t calls_unseen; /* made in callbacks, or left by a jump */
static _Atomic uint64_t calls_refused; /* of threads that have no lane, or for which there was no memory */
static pthread_key_t lane_key;
static sem_t drain_wanted;
static _Atomic bool drain_sleeps;

/* The model for libraries that are there from the beginning: one load, no call. */
static __thread struct lane *lane_self __attribute__((tls_model("initial-exec")));

static inline uintptr_t inside(struct lane *lane)
{
    return atomic_load_explicit(&lane->inside, memory_order_relaxed);
}

/* Nothing hangs on the order in which the drain sees this. */
static inline void set_inside(struct lane *lane, uintptr_t stack)
{
    atomic_store_explicit(&lane->inside, stack, memory_order_relaxed);
}

static bool within_call(void)
{
    return lane_self != NULL && inside(lane_self) != 0;
}

/* Where threads come and go faster than the drain wakes by itself, their memory would pile up. */
#define LANES_LEFT_WAKE 64

static void lane_left(void *lane)
{
    static _Atomic unsigned left;
    lane_self = NULL;
    atomic_store_explicit(&((struct lane *)lane)->state, LANE_LEFT, memory_order_release);
    if (atomic_fetch_add(&left, 1) % LANES_LEFT_WAKE == LANES_LEFT_WAKE - 1)
        sem_post(&drain_wanted);
}

static struct lane *lane_of_ended_thread(void)
{
    for (struct lane *lane = atomic_load_explicit(&lanes, memory_order_acquire); lane != NULL; lane = lane->next) {
        int state = LANE_FREE;
        if (atomic_compare_exchange_strong(&lane->state, &state, LANE_CLAIMED))
            return lane;
    }
    return NULL;
}

static struct lane *lane_make(void)
{
    unsigned number = atomic_fetch_add(&lanes_made, 1);
    struct lane *lane = number > UINT16_MAX ? NULL : aligned_alloc(APART, sizeof *lane);
    if (lane == NULL)
        return NULL;
    memset(lane, 0, sizeof *lane);
    lane->thread = (uint16_t)number;
    atomic_store(&lane->state, LANE_CLAIMED);
    lane->next = atomic_load(&lanes);
    while (!atomic_compare_exchange_weak(&lanes, &lane->next, lane))
        ;
    return lane;
}

static struct lane *lane_open(void)
{
    library_ready();
    if (atomic_load_explicit(&recording, memory_order_acquire) != RECORDING_ON)
        return NULL;
    struct lane *lane = lane_of_ended_thread();
    if (lane == NULL)
        lane = lane_make();
    void *memory = lane == NULL ? MAP_FAILED
                                : mmap(NULL, LANE_WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        if (lane != NULL)
            atomic_store(&lane->state, LANE_FREE);
        atomic_fetch_add(&calls_refused, 1); /* this call is only counted */
        return NULL;
    }
    lane->words = memory;
    set_inside(lane, 0); /* the thread that had it may have ended in a call */
    lane->outside = NULL;
    lane->calls_back = false;
    lane->woken = 0;
    atomic_store_explicit(&lane->limit, LANE_WAKE, memory_order_relaxed);
    atomic_store(&lane->published, 0);
    atomic_store(&lane->consumed, 0);
    /* Pairs with the drain's acquire: it looks at nothing else of the lane before. */
    atomic_store_explicit(&lane->state, LANE_USED, memory_order_release);
    lane_self = lane;
    pthread_setspecific(lane_key, lane);
    return lane;
}

/* Where the stack was as the function was called, whatever its own frame is. */
#define STACK_OF_CALLER() ((uintptr_t)__builtin_dwarf_cfa())

/* What callers of functions with many arguments put there. Before a call from a callback there are frames of the recorder,
 * of the library and of the callback, which are more. */
#define ARGUMENTS_TAKE 64

/* A call within another: the library's own, and not recorded, unless it comes from a callback of the application's. Where
 * the stack is no deeper than at the call before, that was left by a jump or an exception, and never came back. */
static __attribute__((cold, noinline)) struct lane *enter_again(struct lane *lane, uintptr_t stack, const void *caller)
{
    if (is_of_library(caller) || is_of_recorder(caller) || is_of_component(caller))
        return NULL;
    if (stack + ARGUMENTS_TAKE >= inside(lane)) {
        atomic_fetch_add(&calls_unseen, 1);
        lane->outside = NULL; /* not freed: on another stack of this thread a call may still be about to fill it */
        lane->calls_back = false;
        return lane;
    }
    if (!lane->calls_back) {
        atomic_fetch_add(&calls_unseen, 1);
        return NULL;
    }
    lane->called_back++;
    return lane;
}

/* Begins a call: NULL if it is not to be recorded, as a call that the library makes within another. Inlined, for it asks
 * who called the function that it is in. `name` is that function's. */
static inline __attribute__((always_inline)) struct lane *enter_as(const char *name)
{
    struct lane *lane = lane_self;
    if (__builtin_expect(lane == NULL, 0))
        lane = lane_open();
    if (__builtin_expect(lane == NULL, 0))
        return NULL;
    uintptr_t stack = STACK_OF_CALLER();
    if (__builtin_expect(inside(lane) != 0, 0) && enter_again(lane, stack, __builtin_return_address(0)) == NULL)
        return NULL;
    set_inside(lane, stack);
    atomic_store_explicit(&lane->doing, (uint32_t)(uintptr_t)name, memory_order_relaxed);
    return lane;
}
#define enter() enter_as(__func__)

/* The function of MPI that a thread is within, if it is. */
static const char *doing(struct lane *lane)
{
    static const char own[] = "call_";
    uint32_t low = atomic_load_explicit(&lane->doing, memory_order_relaxed);
    const char *name = own + (int32_t)(low - (uint32_t)(uintptr_t)own); /* names lie side by side: the upper half follows */
    return low != 0 && strncmp(name, own, sizeof own - 1) == 0 ? name + sizeof own - 1 : NULL;
}

/* Around calls that run callbacks and hold no room while they do: MPI_Comm_free, MPI_Finalize. A thread's calls stand in
 * the order of their entry, so one that was called back from is written as if entered when it ended. */
static inline unsigned calls_back(struct lane *lane)
{
    lane->calls_back = true;
    return lane->called_back;
}

static inline uint64_t called_back(struct lane *lane, unsigned before, uint64_t entered)
{
    lane->calls_back = false;
    return __builtin_expect(lane->called_back == before, 1) ? entered : ticks();
}

static inline int leave(struct lane *lane, int result)
{
    set_inside(lane, 0);
    return result;
}

/* Words written. Only by the writer, which needs no order for what is its own. */
static inline uint64_t written(struct lane *lane)
{
    return atomic_load_explicit(&lane->published, memory_order_relaxed);
}

/* Words that may be written before the ring is full; and before the drain must be woken, if that is less. */
static uint64_t lane_limit(struct lane *lane)
{
    uint64_t full = atomic_load_explicit(&lane->consumed, memory_order_acquire) + LANE_WORDS, wake = lane->woken + LANE_WAKE;
    atomic_store_explicit(&lane->limit, full < wake ? full : wake, memory_order_relaxed);
    return full;
}

/* Waits until there is room, and wakes the drain when there is much for it. Loses nothing: a trace with holes is worse than
 * an application that waits. False once the recording is over. */
static __attribute__((noinline)) bool lane_wait(struct lane *lane, uint64_t words)
{
    uint64_t needed = written(lane) + words;
    if (needed > lane->woken + LANE_WAKE) {
        lane->woken = needed;
        if (atomic_load_explicit(&drain_sleeps, memory_order_relaxed))
            sem_post(&drain_wanted);
    }
    uint64_t limit = lane_limit(lane);
    if (needed <= limit)
        return true;
    int64_t since = monotonic_ns();
    do {
        /* Nobody will read what comes now, and what is there is perhaps being read for the last time. */
        if (atomic_load(&recording) == RECORDING_OVER)
            return false;
        sem_post(&drain_wanted);
        nanosleep(&(struct timespec){0, 50000}, NULL);
        limit = lane_limit(lane);
    } while (needed > limit);
    lane->waited_ns += (uint64_t)(monotonic_ns() - since);
    return true;
}

static inline void lane_publish(struct lane *lane, uint64_t words)
{
    /* Pairs with the drain's acquire: it sees the words before their number. */
    atomic_store_explicit(&lane->published, written(lane) + words, memory_order_release);
}

static inline bool is_beyond(struct lane *lane, uint64_t end)
{
    return end > atomic_load_explicit(&lane->limit, memory_order_relaxed);
}

static __attribute__((noinline)) uint64_t *room_elsewhere(struct lane *lane, uint64_t words)
{
    if (words > LANE_WORDS / 2) {
        if (atomic_load(&recording) == RECORDING_OVER)
            return NULL;
        lane->outside = malloc(words * 8);
        calls_refused += lane->outside == NULL;
        return lane->outside;
    }
    uint64_t offset = written(lane) % LANE_WORDS;
    if (offset + words > LANE_WORDS) {
        if (!lane_wait(lane, LANE_WORDS - offset))
            return NULL;
        lane->words[offset] = CODE_SKIP;
        lane_publish(lane, LANE_WORDS - offset);
    }
    if (is_beyond(lane, written(lane) + words) && !lane_wait(lane, words))
        return NULL;
    if (atomic_load(&queues_on) && atomic_exchange(&queues_due, false))
        lane->outside = LANE_ASKED;
    return lane->words + written(lane) % LANE_WORDS;
}

/* What will be written three calls or so from here the drain has read a lap ago: it is in another processor's cache, and a
 * write would have to wait for it. Beyond the ring's end nothing happens. */
#define AHEAD 32

static inline void lane_prepare(const uint64_t *record)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(record[AHEAD])); /* elsewhere it does nothing; compilers want to be told of it */
#else
    __builtin_prefetch(record + AHEAD, 1);
#endif
}

/* Room for a record of so many words at most; NULL without memory, and the call is counted; or once the recording
 * is over. */
static inline uint64_t *room(struct lane *lane, uint64_t words)
{
    words++; /* for the call site */
    uint64_t at = written(lane), offset = at % LANE_WORDS;
    if (__builtin_expect(offset + words > LANE_WORDS || is_beyond(lane, at + words), 0))
        return room_elsewhere(lane, words);
    lane_prepare(lane->words + offset);
    return lane->words + offset;
}

/* The record is not in the ring, or something is to follow it. */
static __attribute__((noinline)) void commit_elsewhere(struct lane *lane, uint64_t *record, uint64_t words)
{
    bool asked = lane->outside == LANE_ASKED;
    lane->outside = NULL;
    if (asked && atomic_load(&recording) == RECORDING_OVER) { /* there is no room for more */
        record[WORD_HEAD] |= words << 16;
        lane_publish(lane, words);
        return;
    }
    if (asked) { /* before the remarks that the call has itself */
        uint64_t follows = record[WORD_HEAD] & REMARK_FOLLOWS;
        record[WORD_HEAD] |= words << 16 | REMARK_FOLLOWS;
        lane_publish(lane, words);
        note_queues(lane, follows);
        return;
    }
    record[WORD_HEAD] |= words << 16;
    uint64_t *reference = room(lane, 2);
    if (reference == NULL) {
        free(record);
        return;
    }
    reference[0] = CODE_OUTSIDE | 2 << 16;
    reference[1] = (uint64_t)(uintptr_t)record;
    lane_publish(lane, 2);
}

/* The record at `record` will not be completed. In the ring the next one takes its place. */
static inline void give_up(struct lane *lane, uint64_t *record)
{
    if (__builtin_expect(record != NULL && record == lane->outside, 0)) {
        lane->outside = NULL;
        free(record);
    }
}

/* The record at `record`, of so many words, is complete. */
static inline void commit(struct lane *lane, uint64_t *record, uint64_t words)
{
    if (__builtin_expect(always.sites_wanted, 0))
        record[words++] = site_word();
    if (__builtin_expect(lane->outside != NULL, 0)) {
        commit_elsewhere(lane, record, words);
        return;
    }
    record[WORD_HEAD] |= words << 16;
    lane_publish(lane, words);
}
