/* State of the fast paths, in one cache line, and state of the slow paths. */

static struct {
    bool asks_who_calls; /* until the MPI library is found; later, if a tool or a component calls the library too */
    bool is_foreign;     /* the MPI library has other types than this header */
    bool posts_slowly;   /* posts and probes use the slow path: the engine has entries, or the lock is needed */
    bool translates;     /* request arrays may contain receives of the engine */
    bool drives;         /* blocking calls make progress for the engine's receives: their sender may be this process */
    bool multiple;       /* MPI_THREAD_MULTIPLE: the slow paths acquire the lock */
    int ticks_source;
    int until_sample; /* posting calls until the next timed one */
    /* Outstanding requests of the library: all, possible receives, possible receives from any source. Upper bounds:
     * the kind of a completed request is unknown, so the last two reset when no request is outstanding. */
    long native, native_receives, native_any;
    /* The numbers of outstanding receives at which overflow begins. */
    long limit_named, limit_any;
    uint64_t receives; /* posted by the program */
} always __attribute__((aligned(64))) = {
    .asks_who_calls = true, .until_sample = INT_MAX, .limit_named = LONG_MAX, .limit_any = LONG_MAX};

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

struct receive;
struct communicator;

static struct {
    const struct core_functions *functions;
    struct core *core; /* NULL: overflow is off */
    struct core_counts counts;
    long queued;   /* receives in the engine */
    long blocking; /* of these, receives whose sender may wait: see eager.h */
    long derived;  /* of these, receives with a derived datatype */
    long held;     /* messages in the engine */
    long watched;  /* communicators whose unexpected queue is drained before each post */
    long active;   /* receives with a record that the program has not completed */
    long undriven; /* threads in blocking calls without progress of the engine */
    uint64_t eager_bytes;
    bool synchronous;  /* the program may send synchronously */
    unsigned long long objects; /* loaded objects at the last check of imports */
    bool takes_all;    /* all messages are taken as soon as visible, so that arrival times are exact */
    bool watches_always;
    bool may_watch;
    int idle; /* polls without a message */
    unsigned brief_polls;
    int polls_before_yield;
    int tag_ub;
    double ticks_per_ns;
    bool has_private;
    MPI_Comm private; /* a copy of MPI_COMM_SELF that returns errors */
    struct communicator *busy; /* ring of communicators with receives in the engine */
    pthread_mutex_t mutex;
} overflow = {.tag_ub = INT_MAX, .ticks_per_ns = 1};

/* Recursive, because an error handler or an attribute callback may call MPI while its thread holds the lock. */
static inline void lock(void)
{
    if (always.multiple)
        pthread_mutex_lock(&overflow.mutex);
}

static inline void unlock(void)
{
    if (always.multiple)
        pthread_mutex_unlock(&overflow.mutex);
}

/* Signals that request the contents of the queues: see dump.h. */
static _Atomic int dumps_asked;
static int dumps_answered;

/* Called after each change of the counts. The slow paths also write requested dumps. */
static void set_paths(void)
{
    bool slow = always.multiple || atomic_load_explicit(&dumps_asked, memory_order_relaxed) != dumps_answered;
    always.drives = slow || overflow.queued > 0;
    always.translates = slow || overflow.active > 0;
    always.posts_slowly = slow || overflow.queued > 0 || overflow.held > 0 || overflow.watched > 0 ||
                          always.limit_named == 0 || overflow.watches_always;
}

/* Threads count without the lock. */
static inline long add_native(long requests)
{
    if (LIKELY(!always.multiple))
        return always.native += requests;
    return __atomic_add_fetch(&always.native, requests, __ATOMIC_RELAXED);
}

static inline void count_request(void)
{
    add_native(1);
}

static inline void count_receive(int source)
{
    add_native(1);
    always.native_receives++;
    always.native_any += source == MPI_ANY_SOURCE;
}

/* Requests of the library completed or were freed. */
static inline void uncount(long requests)
{
    if (add_native(-requests) <= 0)
        always.native = always.native_receives = always.native_any = 0;
}

/* Returns whether the library may get one more receive. */
static inline bool is_below_limit(int source)
{
    long may_be = source == MPI_ANY_SOURCE ? always.native_any : always.native_receives;
    long limit = source == MPI_ANY_SOURCE ? always.limit_any : always.limit_named;
    return (may_be < always.native ? may_be : always.native) < limit;
}

static __attribute__((format(printf, 1, 2))) void complain(const char *format, ...)
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
    always.asks_who_calls = tools;
}

#if defined(OPEN_MPI)
static void component_found(void)
{
    always.asks_who_calls = true;
}
#endif
