/* State of the fast paths, in one cache line, and state of the slow paths. */

static struct {
    bool checks_caller;       /* until the MPI library is found; later, if a tool or a component calls the library too */
    bool is_foreign;          /* the MPI library has other types than this header */
    bool has_slow_posts;      /* posts and probes use the slow path: the engine has entries, or the lock is needed */
    bool translates_requests; /* request arrays may contain receives of the engine */
    bool needs_progress;      /* blocking calls serve the engine: a sender may be this process */
    bool is_threaded;         /* MPI_THREAD_MULTIPLE: the slow paths acquire the lock */
    int ticks_source;
    int until_sample; /* posting calls until the next timed one */
    /* Outstanding requests of the library: all, receives, receives from any source. The kind of a completed request is
     * unknown, so the last two are upper bounds, and at most the first. */
    long native, native_receives, native_any;
    /* The numbers of outstanding receives at which overflow begins. */
    long limit_named, limit_any;
    uint64_t receives; /* posted by the program */
} hot_state __attribute__((aligned(64))) = {
    .checks_caller = true, .until_sample = INT_MAX, .limit_named = LONG_MAX, .limit_any = LONG_MAX};

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

struct receive;
struct communicator;

static struct {
    const struct core_functions *functions;
    struct core *core; /* NULL: overflow is off */
    struct core_counts counts;
    long queued;          /* receives in the engine */
    long blocking;        /* of these, receives with a sender that may wait: see eager.h */
    long derived;         /* of these, receives with a derived datatype */
    long longest;         /* the maximum of `queued` since it was 0 */
    long unexpected;      /* messages in the engine */
    long watched;         /* communicators with a drain of their unexpected queue before each post */
    long active;          /* receives with a record that the program has not completed */
    long blocked_threads; /* threads in blocking calls without progress of the engine */
    uint64_t eager_bytes;
    bool synchronous;           /* the program may send synchronously */
    unsigned long long objects; /* loaded objects at the last check of imports */
    bool takes_all;             /* all messages are taken as soon as visible, so that arrival times are exact */
    bool watches_always;
    bool is_disabled;           /* the library matches all messages that are not in the engine */
    bool may_watch;
    bool has_measured_limit;
    long measured_named, measured_any; /* limits; LONG_MAX: none */
    int idle; /* polls without a message */
    unsigned brief_polls;
    int polls_before_yield;
    int tag_ub;
    double ticks_per_ns;
    bool has_private;
    MPI_Comm private;          /* a copy of MPI_COMM_SELF that returns errors */
    struct communicator *busy; /* ring of communicators with receives in the engine */
    pthread_mutex_t mutex;
} overflow = {.tag_ub = INT_MAX, .ticks_per_ns = 1};

/* Recursive, because an error handler or an attribute callback may call MPI while its thread holds the lock. */
static inline void lock(void)
{
    if (hot_state.is_threaded)
        pthread_mutex_lock(&overflow.mutex);
}

static inline void unlock(void)
{
    if (hot_state.is_threaded)
        pthread_mutex_unlock(&overflow.mutex);
}

/* Signals that request the contents of the queues: see dump.h. */
static _Atomic int dumps_requested;
static int dumps_written;

/* Called after each change of the counts. The slow paths also write requested dumps. */
static void set_paths(void)
{
    bool slow = hot_state.is_threaded || atomic_load_explicit(&dumps_requested, memory_order_relaxed) != dumps_written;
    hot_state.needs_progress = slow || overflow.queued > 0;
    hot_state.translates_requests = slow || overflow.active > 0;
    hot_state.has_slow_posts = slow || overflow.queued > 0 || overflow.unexpected > 0 || overflow.watched > 0 ||
                          hot_state.limit_named == 0 || overflow.watches_always;
}

/* Threads count without the lock. */
static inline long add_native(long requests)
{
    if (LIKELY(!hot_state.is_threaded))
        return hot_state.native += requests;
    return __atomic_add_fetch(&hot_state.native, requests, __ATOMIC_RELAXED);
}

static inline void count_request(void)
{
    add_native(1);
}

static inline void count_receive(int source)
{
    add_native(1);
    hot_state.native_receives++;
    hot_state.native_any += source == MPI_ANY_SOURCE;
}

/* Requests of the library completed or were freed. */
static inline void uncount(long requests)
{
    long left = add_native(-requests);
    if (left < 0)
        left = hot_state.native = 0;
    if (hot_state.native_receives > left)
        hot_state.native_receives = left;
    if (hot_state.native_any > left)
        hot_state.native_any = left;
}

/* Returns whether the library may get one more receive. */
static inline bool is_below_limit(int source)
{
    return source == MPI_ANY_SOURCE ? hot_state.native_any < hot_state.limit_any
                                    : hot_state.native_receives < hot_state.limit_named;
}

static __attribute__((format(printf, 1, 2))) void log_error(const char *format, ...)
{
    va_list arguments;
    char line[1024];
    va_start(arguments, format);
    int length = snprintf(line, sizeof line, "matchpoint: process %ld: ", (long)getpid());
    vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", line);
}

static void library_found(bool tools)
{
    hot_state.checks_caller = tools;
}

#if defined(OPEN_MPI)
static void component_found(void)
{
    hot_state.checks_caller = true;
}
#endif
