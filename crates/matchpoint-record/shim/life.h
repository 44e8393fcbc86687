/* Begin and end of a recording: from MPI_Init to MPI_Finalize, or to another end of the process.
 *
 * MATCHPOINT_RECORD_DIR is the folder of the trace; without it the recorder does nothing. MATCHPOINT_RECORD_LIMIT is
 * the number of bytes that this process may write. If MATCHPOINT_RECORD_CALLSITES is set, call sites are recorded. */

static pid_t recorded_process; /* forked children are not recorded */

static void put_functions(struct text *head)
{
    text_add(head, "[");
    for (uint64_t code = 0; code < FUNCTIONS + FAILURES; code++) {
        const struct function *function = function_of(code);
        text_add(head, "%s[\"%s\",\"%s%s\"]", code == 0 ? "" : ",", function->name,
                 function->fields != NULL ? function->fields : "", hot_state.sites_wanted ? "a" : "");
    }
    text_add(head, "]");
}

static const char *ticks_source_name(void)
{
    static const char *const names[] = {"monotonic", "tsc", "cntvct"};
    return names[hot_state.ticks_source];
}

static const char *thread_level(void)
{
    int level = MPI_THREAD_SINGLE;
    REAL(Query_thread)(&level);
    return level == MPI_THREAD_MULTIPLE     ? "multiple"
           : level == MPI_THREAD_SERIALIZED ? "serialized"
           : level == MPI_THREAD_FUNNELED   ? "funneled"
                                            : "single";
}

/* Estimates the counter's rate from both clocks. A wait of some milliseconds would improve the estimate, but delay
 * the job. */
static double ticks_per_second(const struct clock_pair *since)
{
    if (hot_state.ticks_source == TICKS_MONOTONIC)
        return 1e9;
    struct clock_pair now = clock_pair();
    return now.ns > since->ns ? (double)(now.ticks - since->ticks) * 1e9 / (double)(now.ns - since->ns) : 1e9;
}

static struct clock_pair loaded_at;

static void write_head(void)
{
    char library_version[MPI_MAX_LIBRARY_VERSION_STRING] = "?", program[PATH_MAX] = "?";
    int length = 0, version = 0, subversion = 0;
    struct timespec now;
    REAL(Get_library_version)(library_version, &length);
    REAL(Get_version)(&version, &subversion);
    find_transport(library_version);
    clock_gettime(CLOCK_REALTIME, &now);
    ssize_t read = readlink("/proc/self/exe", program, sizeof program - 1);
    program[read > 0 ? read : 1] = 0;
    struct text head = {0};
    text_add(&head, "{\"version\":2,\"rank\":%d,\"size\":%d,\"host\":", world.rank, world.size);
    text_add_string(&head, world.host);
    text_add(&head, ",\"boot\":");
    text_add_string(&head, world.boot);
    text_add(&head, ",\"pid\":%ld,\"processors\":%ld,\"library\":", (long)getpid(), sysconf(_SC_NPROCESSORS_ONLN));
    text_add_string(&head, library_version);
    text_add(&head, ",\"transport\":");
    text_add_string(&head, transport);
    text_add(&head, ",\"standard\":\"%d.%d\",\"thread_level\":\"%s\",\"program\":", version, subversion, thread_level());
    text_add_string(&head, program);
    text_add(&head, ",\"started_ns\":%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    drain.first_pair = clock_pair();
    text_add(&head, ",\"clock\":{\"source\":\"%s\",\"hz\":%.0f,\"ticks\":%llu,\"ns\":%lld},\"functions\":", ticks_source_name(),
             ticks_per_second(&loaded_at), (unsigned long long)drain.first_pair.ticks, (long long)drain.first_pair.ns);
    put_functions(&head);
    text_add(&head, "}");
    file_block(BLOCK_HEAD, 0, 0, head.bytes, head.length);
    free(head.bytes);
}

/* Returns whether MPI_Comm_spawn started this process. Ranks of spawned processes also begin at 0. */
static bool is_spawned(void)
{
    MPI_Comm parent = library.comm_null;
    REAL(Comm_get_parent)(&parent);
    return parent != library.comm_null;
}

static bool open_file(const char *folder, bool spawned)
{
    job_find();
    int descriptor = job_file(folder, spawned, file.path, sizeof file.path);
    if (descriptor < 0)
        log_error("cannot create %s: %s; this process is not recorded", file.path, strerror(errno));
    else
        file_opened(descriptor);
    return descriptor >= 0;
}

/* Ends the recording in a forked child, which has no drain thread. */
static void in_child(void)
{
    if (lane_self != NULL)
        set_inside(lane_self, 1);
    atomic_store(&recording, RECORDING_OVER);
    if (file.descriptor >= 0 && file_is_own(file.descriptor))
        close(file.descriptor);
    file.descriptor = -1;
}

/* Returns whether this thread begins the recording, after a call with this result. Other threads wait. */
static bool recording_is_due(int result)
{
    int before = RECORDING_NOT_YET;
    if (FAILED(result) || getenv("MATCHPOINT_RECORD_DIR") == NULL)
        return false;
    if (!atomic_compare_exchange_strong(&recording, &before, RECORDING_BEGINS)) {
        while (atomic_load(&recording) == RECORDING_BEGINS)
            nanosleep(&(struct timespec){0, 100000}, NULL);
        return false;
    }
    if (library.foreign == NULL)
        return true;
    log_error("this program loaded a library of %s, and the recorder was compiled for another; it is not recorded: name the "
              "compiler of its MPI with --mpicc", library.foreign);
    atomic_store(&recording, RECORDING_OVER);
    return false;
}

/* Called when the rank of this process is known. */
static void recording_begin(bool has_world)
{
    const char *folder = getenv("MATCHPOINT_RECORD_DIR"), *limit = getenv("MATCHPOINT_RECORD_LIMIT");
    host_find();
    bool spawned = has_world && is_spawned();
    if (!open_file(folder, spawned)) {
        atomic_store(&recording, RECORDING_OVER);
        return;
    }
    find_status_length();
    crc_prepare();
    find_zstd();
    if (hot_state.sites_wanted)
        dl_iterate_phdr(find_binding, NULL);
    file.limit = limit != NULL ? strtoull(limit, NULL, 10) : UINT64_MAX;
    write_head();
    write_clock(drain.first_pair);
    if (hot_state.sites_wanted)
        write_modules(); /* repeated at the end, for files loaded later */
    recorded_process = getpid();
    sem_init(&drain_wanted, 0, 0);
    pthread_key_create(&lane_key, lane_ended);
    pthread_atfork(NULL, NULL, in_child);
    if (has_world)
        offset_begin();
    if (has_world && !spawned)
        search_note(ticks_per_second(&loaded_at) / 1e9);
    /* Spawned processes have a communicator with their parents. The library does not count receives in an engine of
     * `matchpoint run`. */
    if (has_world && !spawned && getenv("MATCHPOINT_ENGINE") == NULL)
        queues_open();
    bool runs = drain_start();
    if (!runs)
        log_error("cannot start a thread; this process is not recorded");
    atomic_store(&recording, runs ? RECORDING_ON : RECORDING_OVER);
}

/* Records the call with which the recording began. Returns its result. */
static int record_first_call(int result, uint64_t code, uint64_t entered)
{
    struct lane *lane = enter();
    if (lane == NULL)
        return result;
    put_plain(lane, code, entered);
    return leave(lane, result);
}

/* This thread writes to the file. A signal handler that ends the process must not wait for a write that the signal
 * interrupted. */
static __thread volatile sig_atomic_t is_writing __attribute__((tls_model("initial-exec")));

/* Writes all recorded calls to the file. */
static void recording_pause(void)
{
    is_writing = 1;
    pthread_mutex_lock(&drain.mutex);
    drain_once(true);
    pthread_mutex_unlock(&drain.mutex);
    is_writing = 0;
}

/* Returns whether the world and all sessions are finalized. */
static bool all_is_finalized(void)
{
    return !world.open && sessions_open == 0;
}

/* Writes the remaining calls and the end block. */
static void recording_end(const char *reason)
{
    int on = RECORDING_ON;
    if (is_writing || getpid() != recorded_process || !atomic_compare_exchange_strong(&recording, &on, RECORDING_OVER))
        return;
    drain_stop();
    /* Another thread may be blocked in a write to the file. */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    if (pthread_mutex_timedlock(&drain.mutex, &until) != 0)
        return;
    drain.ends = true;
    drain_once(true);
    if (hot_state.sites_wanted)
        write_modules();
    if (atomic_load(&calls_refused) > 0)
        log_error("calls of some threads were only counted: there was no memory for them, or there were more than 65536");
    struct text end = {0};
    uint64_t waited_ns = 0;
    for (struct lane *lane = atomic_load(&lanes); lane != NULL; lane = lane->next)
        waited_ns += lane->waited_ns;
    text_add(&end, "{\"reason\":\"%s\",\"calls\":%llu,\"left_out\":%llu,\"unseen\":%llu,\"limit_ticks\":", reason,
             (unsigned long long)drain.calls, (unsigned long long)drain.left_out,
             (unsigned long long)(drain.too_long + atomic_load(&calls_unseen) + atomic_load(&calls_refused)));
    text_add(&end, file.limit_ticks != 0 ? "%llu" : "null", (unsigned long long)file.limit_ticks);
    text_add(&end, ",\"waited_ns\":%llu}", (unsigned long long)waited_ns);
    file_block(BLOCK_END, 0, 0, end.bytes, end.length);
    free(end.bytes);
    if (file_is_own(file.descriptor))
        close(file.descriptor);
    pthread_mutex_unlock(&drain.mutex);
    file.descriptor = -1; /* a forked child may later open another file with this number */
}

__attribute__((constructor)) static void loaded(void)
{
    ticks_choose();
    loaded_at = clock_pair();
    read_launcher_variables();
}

__attribute__((destructor)) static void unloaded(void)
{
    recording_end(all_is_finalized() ? "finalize" : "exit");
}
