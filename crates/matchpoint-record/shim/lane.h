/* Lanes: one ring per thread, which the thread writes and the drain reads, without locks. A recorded call is a
 * sequence of words. The drain reads the words up to the number `published`. */

/* 2 MiB, about 32 000 calls. A thread wakes the drain after half a ring of words. More wake-ups would interrupt
 * polling processes on hosts without a free core. */
#define LANE_WORDS ((uint64_t)1 << 18)
#define LANE_WAKE (LANE_WORDS / 2)

/* Words of a record before its fields. */
enum { WORD_HEAD, WORD_ENTER, WORD_LEAVE, WORD_FIELDS };

/* Codes that are commands for the drain, not functions. */
#define CODE_SKIP 0x7fff    /* skip the rest of the ring */
#define CODE_OUTSIDE 0x7ffe /* the record is in separate memory, with its address in the next word */

enum lane_state {
    LANE_FREE,    /* the thread has ended, and all words are read: the next new thread may use the lane */
    LANE_CLAIMED, /* a thread initializes the lane */
    LANE_USED,
    LANE_ENDED, /* the thread has ended */
};

/* The lower 16 bits of a record's first word: the function's code, and one bit for a following remark. A remark is a
 * record with more data about the call before it, for example queue lengths. */
#define CODE_MASK 0x7fff
#define REMARK_FOLLOWS 0x8000

/* Fields of different threads are in separate cache lines. Processors fetch lines in pairs. */
#define LINE_PAIR_BYTES 128

struct lane {
    /* Fields of the writing thread. Most calls use only the first cache line. Of this line, the drain reads
     * `published` ten times a second, and `inside` and `current_function` about once a second. Each read makes the
     * thread's next call fetch the line again. */
    uint64_t *words;
    _Atomic uint64_t published; /* words written */
    /* Words that the writer may publish before it calls `lane_wait`. The drain sets 0 to request queue lengths: see
     * queues.h. */
    _Atomic uint64_t limit;
    uint64_t *outside;                 /* the memory of a record that is too long for the ring; or LANE_QUEUES_REQUESTED */
    _Atomic uintptr_t inside;          /* the stack pointer at the entry of the current MPI call; 0: no call */
    _Atomic uint32_t current_function; /* lower half of the address of the current call's name */
    uint32_t types_freed;              /* `hot_state.types_freed` at the last query of a type's size */
    MPI_Datatype type;                 /* the type of that query */
    uint64_t size;                     /* the size of that type */
    bool runs_callbacks;               /* calls from callbacks of the current call are recorded */
    unsigned callback_calls;
    uint64_t woken; /* words written at the last wake-up of the drain */
    uint64_t waited_ns;
    MPI_Status *statuses;
    size_t statuses_room;
    /* Fields of both. */
    _Alignas(LINE_PAIR_BYTES) _Atomic uint64_t consumed;
    _Atomic int state;
    /* Fields of the drain. */
    _Alignas(LINE_PAIR_BYTES) struct lane *next;
    uint16_t thread;
    struct block *block;
    struct {
        uint64_t written; /* words at the last observation of the thread */
        uint64_t since;   /* ticks, if the thread was in a call */
        bool is_reported;
    } seen;
};

_Static_assert(offsetof(struct lane, runs_callbacks) <= 64, "the fields of most calls fit into one cache line");

/* Value of `outside`: a remark with queue lengths follows the current record. See queues.h. */
static uint64_t lane_queues_requested[1];
#define LANE_QUEUES_REQUESTED lane_queues_requested

FUNCTION(queues, "+queues", "iii");
static _Atomic bool queues_on;  /* queue lengths are available */
static _Atomic bool queues_due; /* the next call of any thread adds queue lengths */
static void write_queues(struct lane *lane, uint64_t remark_follows);

/* States of the recording. RECORDING_OVER lasts until the process ends, because destructors of other libraries may
 * still call MPI. */
enum recording { RECORDING_NOT_YET, RECORDING_BEGINS, RECORDING_ON, RECORDING_OVER };
static _Atomic int recording;

static _Atomic(struct lane *) lanes;
static _Atomic unsigned lanes_created;
static _Atomic uint64_t calls_unseen; /* unrecorded calls in callbacks, and calls that a jump left */
static _Atomic uint64_t calls_refused; /* unrecorded calls of threads without a lane, or without memory */
static pthread_key_t lane_key;
static sem_t drain_wanted;
static _Atomic bool drain_sleeps;

/* With the initial-exec model, an access is one load without a function call. The recorder is loaded at the program's
 * start, as this model requires. */
static __thread struct lane *lane_self __attribute__((tls_model("initial-exec")));

static inline uintptr_t inside(struct lane *lane)
{
    return atomic_load_explicit(&lane->inside, memory_order_relaxed);
}

/* Relaxed: the drain does not depend on the order of this store. */
static inline void set_inside(struct lane *lane, uintptr_t stack)
{
    atomic_store_explicit(&lane->inside, stack, memory_order_relaxed);
}

static bool within_call(void)
{
    return lane_self != NULL && inside(lane_self) != 0;
}

/* Ended threads after which the drain is woken. Otherwise the memory of ended threads could accumulate until the next
 * wake-up. */
#define LANES_ENDED_WAKE 64

static void lane_ended(void *lane)
{
    static _Atomic unsigned left;
    lane_self = NULL;
    atomic_store_explicit(&((struct lane *)lane)->state, LANE_ENDED, memory_order_release);
    if (atomic_fetch_add(&left, 1) % LANES_ENDED_WAKE == LANES_ENDED_WAKE - 1)
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

static struct lane *lane_create(void)
{
    unsigned number = atomic_fetch_add(&lanes_created, 1);
    struct lane *lane = number > UINT16_MAX ? NULL : aligned_alloc(LINE_PAIR_BYTES, sizeof *lane);
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
        lane = lane_create();
    void *memory = lane == NULL ? MAP_FAILED
                                : mmap(NULL, LANE_WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        if (lane != NULL)
            atomic_store(&lane->state, LANE_FREE);
        atomic_fetch_add(&calls_refused, 1); /* the call is counted, but not recorded */
        return NULL;
    }
    lane->words = memory;
    set_inside(lane, 0); /* the previous thread may have ended in a call */
    lane->outside = NULL;
    lane->runs_callbacks = false;
    lane->woken = 0;
    atomic_store_explicit(&lane->limit, LANE_WAKE, memory_order_relaxed);
    atomic_store(&lane->published, 0);
    atomic_store(&lane->consumed, 0);
    /* Pairs with the drain's acquire, which precedes its other reads of the lane. */
    atomic_store_explicit(&lane->state, LANE_USED, memory_order_release);
    lane_self = lane;
    pthread_setspecific(lane_key, lane);
    return lane;
}

/* The stack pointer at the call of the current function. */
#define STACK_OF_CALLER() ((uintptr_t)__builtin_dwarf_cfa())

/* Maximum bytes of arguments on the caller's stack. For a call from a callback, the stack is deeper by more bytes: by
 * the frames of recorder, library and callback. */
#define ARGUMENT_BYTES 64

/* Handles a call within another call. Calls of the library are not recorded, except from callbacks of the
 * application. If the stack is not deeper than at the outer call, a jump or an exception has left the outer call. */
static __attribute__((cold, noinline)) struct lane *enter_nested_call(struct lane *lane, uintptr_t stack, const void *caller)
{
    if (is_of_library(caller) || is_of_recorder(caller) || is_of_component(caller))
        return NULL;
    if (stack + ARGUMENT_BYTES >= inside(lane)) {
        atomic_fetch_add(&calls_unseen, 1);
        lane->outside = NULL; /* not freed: another stack of this thread may still write to the memory */
        lane->runs_callbacks = false;
        return lane;
    }
    if (!lane->runs_callbacks) {
        atomic_fetch_add(&calls_unseen, 1);
        return NULL;
    }
    lane->callback_calls++;
    return lane;
}

/* Begins a call. Returns NULL if the call is not recorded, for example a call of the library within another call.
 * Inlined, because the return address must be that of the calling function. `name` is the calling function's name. */
static inline __attribute__((always_inline)) struct lane *enter_as(const char *name)
{
    struct lane *lane = lane_self;
    if (__builtin_expect(lane == NULL, 0))
        lane = lane_open();
    if (__builtin_expect(lane == NULL, 0))
        return NULL;
    uintptr_t stack = STACK_OF_CALLER();
    if (__builtin_expect(inside(lane) != 0, 0) && enter_nested_call(lane, stack, __builtin_return_address(0)) == NULL)
        return NULL;
    set_inside(lane, stack);
    atomic_store_explicit(&lane->current_function, (uint32_t)(uintptr_t)name, memory_order_relaxed);
    return lane;
}
#define enter() enter_as(__func__)

/* Returns the MPI function that the lane's thread runs, or NULL. */
static const char *current_function(struct lane *lane)
{
    static const char own[] = "call_";
    uint32_t low = atomic_load_explicit(&lane->current_function, memory_order_relaxed);
    const char *name = own + (int32_t)(low - (uint32_t)(uintptr_t)own); /* names are adjacent: 32 bits suffice */
    return low != 0 && strncmp(name, own, sizeof own - 1) == 0 ? name + sizeof own - 1 : NULL;
}

/* Enables the recording of calls in callbacks of the current call, which must reserve no words meanwhile:
 * MPI_Comm_free, MPI_Finalize. The records of a thread are in the order of entry. So a call with recorded callbacks
 * gets its end as entry time. */
static inline unsigned begin_callbacks(struct lane *lane)
{
    lane->runs_callbacks = true;
    return lane->callback_calls;
}

static inline uint64_t end_callbacks(struct lane *lane, unsigned before, uint64_t entered)
{
    lane->runs_callbacks = false;
    return __builtin_expect(lane->callback_calls == before, 1) ? entered : ticks();
}

static inline int leave(struct lane *lane, int result)
{
    set_inside(lane, 0);
    return result;
}

/* Returns the number of words written. Only the writing thread calls this function, so the load is relaxed. */
static inline uint64_t written(struct lane *lane)
{
    return atomic_load_explicit(&lane->published, memory_order_relaxed);
}

/* Sets the limit to the number of words at which the ring is full or the drain must be woken. Returns the number at
 * which the ring is full. */
static uint64_t lane_limit(struct lane *lane)
{
    uint64_t full = atomic_load_explicit(&lane->consumed, memory_order_acquire) + LANE_WORDS, wake = lane->woken + LANE_WAKE;
    atomic_store_explicit(&lane->limit, full < wake ? full : wake, memory_order_relaxed);
    return full;
}

/* Waits for space, and wakes the drain if it has many words to read. A full ring makes the application wait, because
 * a trace with gaps would be worse. Returns false if the recording is over. */
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
        /* The drain's last read of the lane has begun or ended. */
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
    /* Pairs with the drain's acquire: the drain sees the words before their number. */
    atomic_store_explicit(&lane->published, written(lane) + words, memory_order_release);
}

static inline bool exceeds_limit(struct lane *lane, uint64_t end)
{
    return end > atomic_load_explicit(&lane->limit, memory_order_relaxed);
}

static __attribute__((noinline)) uint64_t *reserve_slow(struct lane *lane, uint64_t words)
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
    if (exceeds_limit(lane, written(lane) + words) && !lane_wait(lane, words))
        return NULL;
    if (atomic_load(&queues_on) && atomic_exchange(&queues_due, false))
        lane->outside = LANE_QUEUES_REQUESTED;
    return lane->words + written(lane) % LANE_WORDS;
}

/* Prefetches the words of a record three calls ahead. The drain has read these words before, so another processor's
 * cache has them, and a write would wait. Behind the ring's end the prefetch has no effect. */
#define PREFETCH_WORDS 32

static inline void lane_prepare(const uint64_t *record)
{
#if defined(__x86_64__)
    /* Not the builtin, which needs a compiler option for this instruction. */
    __asm__ volatile("prefetchw %0" : : "m"(record[PREFETCH_WORDS])); /* no effect on processors without it */
#else
    __builtin_prefetch(record + PREFETCH_WORDS, 1);
#endif
}

/* Reserves at most this number of words. Returns NULL without memory (the call is then counted), or if the recording
 * is over. */
static inline uint64_t *reserve(struct lane *lane, uint64_t words)
{
    words++; /* for the call site */
    uint64_t at = written(lane), offset = at % LANE_WORDS;
    if (__builtin_expect(offset + words > LANE_WORDS || exceeds_limit(lane, at + words), 0))
        return reserve_slow(lane, words);
    lane_prepare(lane->words + offset);
    return lane->words + offset;
}

/* Completes a record outside the ring, or a record with a following remark. */
static __attribute__((noinline)) void commit_slow(struct lane *lane, uint64_t *record, uint64_t words)
{
    bool is_requested = lane->outside == LANE_QUEUES_REQUESTED;
    lane->outside = NULL;
    if (is_requested && atomic_load(&recording) == RECORDING_OVER) { /* the ring may have no space for a remark */
        record[WORD_HEAD] |= words << 16;
        lane_publish(lane, words);
        return;
    }
    if (is_requested) { /* the queue lengths precede other remarks on the call */
        uint64_t follows = record[WORD_HEAD] & REMARK_FOLLOWS;
        record[WORD_HEAD] |= words << 16 | REMARK_FOLLOWS;
        lane_publish(lane, words);
        write_queues(lane, follows);
        return;
    }
    record[WORD_HEAD] |= words << 16;
    uint64_t *reference = reserve(lane, 2);
    if (reference == NULL) {
        free(record);
        return;
    }
    reference[0] = CODE_OUTSIDE | 2 << 16;
    reference[1] = (uint64_t)(uintptr_t)record;
    lane_publish(lane, 2);
}

/* Abandons the record at `record`. In the ring, the next record replaces it. */
static inline void abandon(struct lane *lane, uint64_t *record)
{
    if (__builtin_expect(record != NULL && record == lane->outside, 0)) {
        lane->outside = NULL;
        free(record);
    }
}

/* Completes the record at `record` with this number of words. */
static inline void commit(struct lane *lane, uint64_t *record, uint64_t words)
{
    if (__builtin_expect(hot_state.sites_wanted, 0))
        record[words++] = site_word();
    if (__builtin_expect(lane->outside != NULL, 0)) {
        commit_slow(lane, record, words);
        return;
    }
    record[WORD_HEAD] |= words << 16;
    lane_publish(lane, words);
}
