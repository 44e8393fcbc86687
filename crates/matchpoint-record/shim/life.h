/* From MPI_Init to MPI_Finalize, or to whatever end the process takes.
 *
 * MATCHPOINT_RECORD_DIR says where; without it the recorder does nothing. MATCHPOINT_RECORD_LIMIT is the number of bytes
 * that this process may write. MATCHPOINT_RECORD_CALLSITES, if set, has it kept where calls were made. */

static pid_t recorded_process; /* a child that this one forks is not recorded */

static void put_functions(struct text *head)
{
    text_add(head, "[");
    for (struct function *function = __start_matchpoint_functions; function != __stop_matchpoint_functions; function++)
        text_add(head, "%s[\"%s\",\"%s%s\"]", function == __start_matchpoint_functions ? "" : ",", function->name,
                 function->fields != NULL ? function->fields : "", sites_wanted ? "a" : "");
    text_add(head, "]");
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

/* The rate as the clocks tell it: a few milliseconds of waiting would make it better, and the job later. */
static double ticks_per_second(const struct clock_pair *since)
{
    if (ticks_source == TICKS_MONOTONIC)
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
    clock_gettime(CLOCK_REALTIME, &now);
    ssize_t read = readlink("/proc/self/exe", program, sizeof program - 1);
    program[read > 0 ? read : 1] = 0;
    struct text head = {0};
    text_add(&head, "{\"version\":1,\"rank\":%d,\"size\":%d,\"host\":", world.rank, world.size);
    text_add_string(&head, world.host);
    text_add(&head, ",\"pid\":%ld,\"library\":", (long)getpid());
    text_add_string(&head, library_version);
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

/* Processes that were spawned have ranks from 0 again: they are a trace of their own, in the first folder that is free. */
static int spawned_number(const char *folder)
{
    MPI_Comm parent = library.comm_null;
    int number = 0;
    REAL(Comm_get_parent)(&parent);
    if (parent == library.comm_null)
        return 0;
    if (world.rank == 0) {
        char path[PATH_MAX];
        do
            snprintf(path, sizeof path, "%s/spawned-%d", folder, ++number);
        while (mkdir(path, 0777) != 0 && errno == EEXIST);
    }
    REAL(Bcast)(&number, sizeof number, library.byte, 0, library.comm_world);
    return number;
}

static bool open_file(const char *folder, int spawned)
{
    char inside[32] = "";
    if (spawned > 0)
        snprintf(inside, sizeof inside, "/spawned-%d", spawned);
    if ((size_t)snprintf(file.path, sizeof file.path, "%s%s/rank-%05d.mpt", folder, inside, world.rank) >= sizeof file.path) {
        complain("the path of the trace is too long; this process is not recorded");
        return false;
    }
    file.descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor < 0)
        complain("cannot create %s: %s; this process is not recorded", file.path, strerror(errno));
    return file.descriptor >= 0;
}

/* In the child nothing is recorded: its memory has the lanes, but not the drain. */
static void in_child(void)
{
    if (lane_self != NULL)
        lane_self->inside = 1;
    atomic_store(&recording, RECORDING_OVER);
    if (file.descriptor >= 0)
        close(file.descriptor);
    file.descriptor = -1;
}

/* Whether recording begins with a call that came back with `result`. */
static bool recording_is_due(int result)
{
    if (FAILED(result) || getenv("MATCHPOINT_RECORD_DIR") == NULL || atomic_load(&recording) != RECORDING_NOT_YET)
        return false;
    if (library.foreign != NULL)
        complain("this program loaded a library of %s, and the recorder was compiled for another; it is not recorded: name "
                 "the compiler of its MPI with --mpicc", library.foreign);
    return library.foreign == NULL;
}

/* Once this process's rank is known. With a world this is collective over it, whatever fails at one process. */
static void recording_begin(bool has_world)
{
    const char *folder = getenv("MATCHPOINT_RECORD_DIR"), *limit = getenv("MATCHPOINT_RECORD_LIMIT");
    host_find();
    crc_prepare();
    find_zstd();
    sites_wanted = getenv("MATCHPOINT_RECORD_CALLSITES") != NULL;
    if (sites_wanted)
        dl_iterate_phdr(find_binding, NULL);
    file.limit = limit != NULL ? strtoull(limit, NULL, 10) : UINT64_MAX;
    int spawned = has_world ? spawned_number(folder) : 0;
    file.failed = !open_file(folder, spawned);
    write_head();
    note_clock();
    if (sites_wanted)
        note_modules(); /* and again at the end, for what is loaded later */
    recorded_process = getpid();
    sem_init(&drain_wanted, 0, 0);
    pthread_key_create(&lane_key, lane_left);
    pthread_atfork(NULL, NULL, in_child);
    if (has_world)
        offset_find(!file.failed);
    if (file.failed)
        return;
    if (has_world && spawned == 0) /* processes that were spawned have a communicator with those that did it */
        queues_open();
    if (drain_start())
        atomic_store(&recording, RECORDING_ON);
    else
        complain("cannot start a thread; this process is not recorded");
}

/* Records the call that recording began with, and gives its result on. */
static int recorded_beginning(int result, uint64_t code, uint64_t entered)
{
    struct lane *lane = enter();
    if (lane == NULL)
        return result;
    put_plain(lane, code, entered);
    return leave(lane, result);
}

/* All that was recorded so far is in the file afterwards. */
static void recording_pause(void)
{
    pthread_mutex_lock(&drain.mutex);
    drain_once(true);
    pthread_mutex_unlock(&drain.mutex);
}

/* Writes what is left, and the end. */
static void recording_end(const char *reason)
{
    int on = RECORDING_ON;
    if (getpid() != recorded_process || !atomic_compare_exchange_strong(&recording, &on, RECORDING_OVER))
        return;
    drain_stop();
    drain.ends = true;
    recording_pause();
    if (sites_wanted)
        note_modules();
    if (atomic_load(&calls_refused) > 0)
        complain("calls of some threads were only counted: there was no memory for them, or there were more than 65536");
    struct text end = {0};
    uint64_t waited_ns = 0;
    for (struct lane *lane = atomic_load(&lanes); lane != NULL; lane = lane->next)
        waited_ns += lane->waited_ns;
    text_add(&end, "{\"reason\":\"%s\",\"calls\":%llu,\"left_out\":%llu,\"limit_ticks\":", reason,
             (unsigned long long)drain.calls, (unsigned long long)(drain.left_out + atomic_load(&calls_refused)));
    text_add(&end, file.limit_ticks != 0 ? "%llu" : "null", (unsigned long long)file.limit_ticks);
    text_add(&end, ",\"waited_ns\":%llu}", (unsigned long long)waited_ns);
    file_block(BLOCK_END, 0, 0, end.bytes, end.length);
    free(end.bytes);
    close(file.descriptor);
}

__attribute__((constructor)) static void loaded(void)
{
    ticks_choose();
    loaded_at = clock_pair();
}

__attribute__((destructor)) static void unloaded(void)
{
    recording_end(recording_leaves_in_order ? "finalize" : "exit");
}
