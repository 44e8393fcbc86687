/* From MPI_Init, or the first session, to MPI_Finalize (MPI-4.1 §11).
 *
 * MATCHPOINT_OVERFLOW is the file of the core; without it no receive overflows. MATCHPOINT_LIMIT is the limit of
 * receives in the library: `auto` (measured), `none`, or a number. */

static int sessions_open;
static bool world_open;

static bool load_core(const char *path)
{
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    __typeof__(&matchpoint_core) find =
        file != NULL ? (__typeof__(&matchpoint_core))dlsym(file, "matchpoint_core") : NULL;
    char error[256] = "";
    if (find == NULL) {
        log_error("error: cannot load '%s': %s; the MPI library matches every message", path, dlerror());
        return false;
    }
    overflow.functions = find();
    if (overflow.functions->version != CORE_VERSION) {
        log_error("error: '%s' is of another version of Matchpoint; the MPI library matches every message", path);
        return false;
    }
    overflow.core = overflow.functions->open(&overflow.counts, error, sizeof error);
    if (overflow.core == NULL)
        log_error("error: %s; the MPI library matches every message", error);
    return overflow.core != NULL;
}

#if defined(OPEN_MPI) && defined(MPI_4)
CALL(Precv_init,
     (void *buffer, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Info info,
      MPI_Request *request),
     (buffer, partitions, count, type, source, tag, comm, info, request))
{
    lock();
    disable_overflow(CORE_OFF_PROGRAM);
    if (overflow.unexpected > 0)
        log_error("warning: a message that sets partitioned communication up may be lost. hint: set MATCHPOINT_LIMIT=none for "
                  "this program");
    unlock();
    return REAL(Precv_init)(buffer, partitions, count, type, source, tag, comm, info, request);
}
#endif

static void set_limits(bool has_world)
{
    const char *limit = getenv("MATCHPOINT_LIMIT");
    char *end = NULL;
    long receives = limit != NULL && *limit >= '0' && *limit <= '9' ? strtol(limit, &end, 10) : -1;
    if (limit != NULL && strcmp(limit, "none") == 0)
        overflow.may_watch = false;
    else if (receives >= 0 && *end == 0)
        hot_state.limit_named = hot_state.limit_any = receives;
    else {
        measure_limits(has_world);
        overflow.has_measured_limit = true;
        overflow.measured_named = hot_state.limit_named;
        overflow.measured_any = hot_state.limit_any;
    }
    if (limit != NULL && *limit != 0 && strcmp(limit, "none") != 0 && strcmp(limit, "auto") != 0 && (end == NULL || *end != 0))
        log_error("warning: MATCHPOINT_LIMIT is '%s'; taken as auto. hint: set a number of receives, none or auto", limit);
    overflow.counts.limit_named = hot_state.limit_named == LONG_MAX ? -1 : hot_state.limit_named;
    overflow.counts.limit_any = hot_state.limit_any == LONG_MAX ? -1 : hot_state.limit_any;
    overflow.watches_always = getenv("MATCHPOINT_WATCH") != NULL;
}

/* The thread level of sessions is unknown here. */
static void find_thread_level(bool has_world)
{
    int level = MPI_THREAD_SINGLE;
    REAL(Query_thread)(&level);
    if ((level != MPI_THREAD_MULTIPLE && has_world) || hot_state.is_threaded)
        return;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&overflow.mutex, &attributes);
    hot_state.is_threaded = true;
}

static bool is_spawned(void)
{
    MPI_Comm parent = library.comm_null;
    REAL(Comm_get_parent)(&parent);
    return parent != library.comm_null;
}

static void make_private(void)
{
    overflow.has_private = REAL(Comm_dup)(library.comm_self, &overflow.private) == MPI_SUCCESS;
    if (overflow.has_private)
        REAL(Comm_set_errhandler)(overflow.private, library.errors_return);
}

static void free_private(void)
{
    if (overflow.has_private)
        REAL(Comm_free)(&overflow.private);
    overflow.has_private = false;
}

/* Starts overflow matching after the library's initialization. */
static __attribute__((noinline)) void overflow_begin(bool has_world)
{
    const char *path = getenv("MATCHPOINT_OVERFLOW");
    int size = 1, rank = -1, found = 0, *bound;
    if (path == NULL || *path == 0)
        return;
    find_thread_level(has_world);
    set_paths();
    if (overflow.core != NULL) {
        if (has_world)
            make_private();
        return;
    }
    struct clock_pair before = clock_pair();
    if (has_world) {
        REAL(Comm_size)(library.comm_world, &size);
        REAL(Comm_rank)(library.comm_world, &rank);
        if (REAL(Comm_get_attr)(library.comm_world, MPI_TAG_UB, &bound, &found) == MPI_SUCCESS && found)
            overflow.tag_ub = *bound;
    }
    overflow.counts.rank = rank;
    overflow.takes_all = getenv("MATCHPOINT_ARRIVALS") != NULL;
    overflow.may_watch = true;
    bool spawned = has_world && is_spawned();
    overflow.eager_bytes = spawned ? 0 : find_eager_bytes(has_world ? size : -1);
    struct imports imports = find_imports();
    overflow.synchronous = may_send_synchronously(&imports);
    overflow.objects = objects_loaded();
    overflow.polls_before_yield = find_polls_before_yield();
    overflow.counts.eager_bytes = overflow.eager_bytes;
    overflow.counts.synchronous = overflow.synchronous;
    if (!load_core(path))
        return;
    struct clock_pair after = clock_pair();
    if (after.ns > before.ns)
        overflow.ticks_per_ns = (double)(after.ticks - before.ticks) / (double)(after.ns - before.ns);
    if (has_world)
        make_private();
    bool hides = LOSES_MESSAGES && !imports.initializes; /* the program may look up these functions by name */
    if (imports.needs_library || hides)
        disable_overflow(CORE_OFF_PROGRAM);
    else if (PROBE_CRASHES && spawned)
        disable_overflow(CORE_OFF_PROCESSES);
    else if (fails_imrecv())
        disable_overflow(CORE_OFF_LIBRARY);
    else
        set_limits(has_world);
    install_dump_handler(); /* after the report, a command may send the signal to this process */
    overflow.functions->report(overflow.core);
    hot_state.until_sample = overflow.may_watch ? SAMPLE : INT_MAX;
    set_paths();
}

/* Ends overflow matching before the library's finalization. Callbacks may still complete the program's requests. */
static void overflow_end(void)
{
    struct core *core = overflow.core;
    if (core == NULL)
        return;
    lock();
    give_back_all();
    overflow.counts.receives = hot_state.receives;
    overflow.core = NULL;
    hot_state.limit_named = hot_state.limit_any = LONG_MAX;
    hot_state.until_sample = INT_MAX;
    overflow.watches_always = overflow.may_watch = overflow.takes_all = false;
    overflow.unexpected = overflow.watched = 0;
    set_paths();
    overflow.functions->close(core);
    while (free_receives != NULL) {
        struct receive *receive = free_receives;
        free_receives = receive->next;
        map_remove(receive);
        REAL(Grequest_complete)(receive->handle);
        REAL(Request_free)(&receive->handle);
        free(receive);
    }
    free_private();
    unlock();
}

/* Called before the first MPI function of a program. */
static void find_library_once(void)
{
    library_ready();
    if (library.foreign == NULL || hot_state.is_foreign)
        return;
    hot_state.is_foreign = true;
    if (getenv("MATCHPOINT_OVERFLOW") != NULL)
        log_error("error: this program uses %s, and Matchpoint was compiled for another MPI; the MPI library matches every "
                  "message. hint: name the compiler of the program's MPI with --mpicc", library.foreign);
}

CALL(Init, (int *count, char ***arguments), (count, arguments))
{
    find_library_once();
    int result = REAL(Init)(count, arguments);
    if (result == MPI_SUCCESS && !hot_state.is_foreign) {
        world_open = true;
        overflow_begin(true);
    }
    return result;
}

CALL(Init_thread, (int *count, char ***arguments, int required, int *provided), (count, arguments, required, provided))
{
    find_library_once();
    int result = REAL(Init_thread)(count, arguments, required, provided);
    if (result == MPI_SUCCESS && !hot_state.is_foreign) {
        world_open = true;
        overflow_begin(true);
    }
    return result;
}

/* Without CALL, because the function has no parameters. */
FUNCTION(Finalize, "MPI_Finalize", NULL);
EXPORT int MPI_Finalize(void);
EXPORT int PMPI_Finalize(void);

static int finalize(const void *caller, bool first)
{
    void *instead = NULL;
    if (hot_state.is_foreign || hot_state.checks_caller)
        instead = redirect_target(&function_Finalize, caller, first);
    if (instead != NULL)
        return ((int (*)(void))instead)();
    world_open = false;
    if (sessions_open == 0) {
        overflow_end();
        return REAL(Finalize)();
    }
    enter_blocking();
    lock();
    free_private();
    unlock();
    int result = REAL(Finalize)();
    leave_blocking();
    return result;
}

int MPI_Finalize(void)
{
    return finalize(__builtin_return_address(0), true);
}

int PMPI_Finalize(void)
{
    return finalize(__builtin_return_address(0), false);
}

#ifdef MPI_4
CALL(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session *session), (info, handler, session))
{
    find_library_once();
    int result = REAL(Session_init)(info, handler, session);
    if (result == MPI_SUCCESS && !hot_state.is_foreign) {
        sessions_open++;
        overflow_begin(false);
    }
    return result;
}

CALL(Session_finalize, (MPI_Session * session), (session))
{
    if (--sessions_open == 0 && !world_open)
        overflow_end();
    else
        enter_blocking();
    int result = REAL(Session_finalize)(session);
    if (overflow.core != NULL)
        leave_blocking();
    return result;
}
#endif

CALL(Abort, (MPI_Comm comm, int code), (comm, code))
{
    overflow.counts.receives = hot_state.receives;
    if (overflow.core != NULL)
        overflow.functions->report(overflow.core);
    return REAL(Abort)(comm, code);
}

__attribute__((constructor)) static void loaded(void)
{
    ticks_choose();
}
