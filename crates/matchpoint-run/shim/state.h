/* What every call reads first, in one cache line, and what the slow paths share. */

static struct {
    bool asks_who_calls; /* until the MPI library is found; later, if a tool or a component calls the library too */
    bool is_foreign;     /* the MPI library has other types than this header */
    bool posts_slowly;   /* a posting call or a probe must look at the engine, or take the lock */
    bool translates;     /* a request array may contain requests of ours */
    bool drives;         /* a blocking call must make progress for the engine's receives: their sender may be this process */
    bool multiple;       /* MPI_THREAD_MULTIPLE: the slow paths take the lock */
    int ticks_source;
    int until_sample; /* posting calls until one is timed */
    /* Outstanding requests of the library: all, those that may be receives, those that may be from any source. Upper bounds:
     * what a completed request was is not known, so the last two begin again whenever nothing is outstanding. */
    long native, native_receives, native_any;
    /* Overflow begins when so many receives are outstanding. */
    long limit_named, limit_any;
    uint64_t receives; /* posted by the program */
} always __attribute__((aligned(64))) = {
    .asks_who_calls = true, .until_sample = INT_MAX, .limit_named = LONG_MAX, .limit_any = LONG_MAX};

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

struct receive;
struct communicator;

static struct {
    const struct core_functions *functions;
    struct core *core; /* NULL: overflow is switched off */
    struct core_counts counts;
    long queued;   /* receives in the engine */
    long blocking; /* of these, receives whose sender may wait for them: see eager.h */
    long derived;  /* of these, receives with a derived datatype */
    long held;     /* messages in the engine */
    long watched;  /* communicators whose unexpected queue is drained before each posting */
    long active;   /* receives of ours that are queued, or that the program has not completed yet */
    long undriven; /* threads in blocking calls during which the engine makes no progress */
    uint64_t eager_bytes;
    bool synchronous;  /* the program may send synchronously */
    unsigned long long objects; /* loaded when that was found out */
    bool takes_all;    /* messages are taken as soon as they can be seen, so that arrival times are true */
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

/* An error handler or an attribute callback may call MPI while this thread has the lock: the mutex is recursive. */
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

/* Signals that ask for the contents of the queues: see dump.h. */
static _Atomic int dumps_asked;
static int dumps_answered;

/* After any change of the counts. The slow paths also answer a signal. */
static void set_paths(void)
{
    bool slow = always.multiple || atomic_load_explicit(&dumps_asked, memory_order_relaxed) != dumps_answered;
    always.drives = slow || overflow.queued > 0;
    always.translates = slow || overflow.active > 0;
    always.posts_slowly = slow || overflow.queued > 0 || overflow.held > 0 || overflow.watched > 0 ||
                          always.limit_named == 0 || overflow.watches_always;
}

/* Threads count without the lock, too. */
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

/* Requests of the library have completed, or were freed. */
static inline void uncount(long requests)
{
    if (add_native(-requests) <= 0)
        always.native = always.native_receives = always.native_any = 0;
}

/* The library may take one more receive. */
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
