/* A list of the queues' entries, written after a signal, for jobs that hang. The handler counts, and forces the next
 * call into a slow path, which writes the list. */

/* Listed entries per queue. */
#define DUMPED_MOST 1000

static void take_slow_paths(void)
{
    hot_state.needs_progress = hot_state.translates_requests = hot_state.has_slow_posts = true;
}

static void on_dump_signal(int number)
{
    (void)number;
    atomic_fetch_add(&dumps_requested, 1);
    take_slow_paths();
}

static void dump_path(char *path, size_t room)
{
    char host[256] = "";
    const char *folder = getenv("MATCHPOINT_REPORT");
    gethostname(host, sizeof host - 1);
    snprintf(path, room, "%s/queues-%s-%ld.txt", folder != NULL ? folder : ".", host, (long)getpid());
}

/* Installs the handler, unless the program has one. Only a process with a file for its lists gets the signal. */
static void install_dump_handler(void)
{
    const char *number = getenv("MATCHPOINT_QUEUES_SIGNAL");
    char path[PATH_MAX];
    struct sigaction before, ours = {.sa_handler = on_dump_signal, .sa_flags = SA_RESTART};
    int signal_number = number != NULL ? atoi(number) : 0;
    if (signal_number <= 0 || sigaction(signal_number, &ours, &before) != 0)
        return;
    if (before.sa_handler != SIG_DFL) {
        sigaction(signal_number, &before, NULL);
        return;
    }
    dump_path(path, sizeof path);
    FILE *file = fopen(path, "a");
    if (file != NULL)
        fclose(file);
}

struct dump {
    FILE *file;
    uint64_t now;
    long written;
};

static void dump_end(const struct dump *dump, const struct communicator *communicator, uint64_t since)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    if (REAL(Comm_get_name)(communicator->handle, name, &length) != MPI_SUCCESS || name[0] == 0)
        snprintf(name, sizeof name, "unnamed communicator %u of this rank", communicator->context);
    fprintf(dump->file, ", %s, for %.3f s\n", name,
            (double)(dump->now - since) / overflow.ticks_per_ns / 1e9);
}

static void dump_number(FILE *file, const char *name, int number, int wildcard)
{
    if (number == wildcard)
        fprintf(file, ", any %s", name);
    else
        fprintf(file, ", %s %d", name, number);
}

static void dump_receive(void *argument, uint64_t id)
{
    struct dump *dump = argument;
    const struct receive *receive = (const struct receive *)(uintptr_t)id;
    if (++dump->written > DUMPED_MOST)
        return;
    fprintf(dump->file, "  receive %ld", dump->written);
    dump_number(dump->file, "source", receive->source, MPI_ANY_SOURCE);
    dump_number(dump->file, "tag", receive->tag, MPI_ANY_TAG);
    fprintf(dump->file, ", %llu bytes", (unsigned long long)receive->bytes);
    dump_end(dump, receive->communicator, receive->since);
}

static void dump_message(void *argument, uint64_t id)
{
    struct dump *dump = argument;
    const struct message *message = (const struct message *)(uintptr_t)id;
    if (++dump->written > DUMPED_MOST)
        return;
    int bytes = MPI_UNDEFINED;
    REAL(Get_count)(&message->status, library.byte, &bytes);
    fprintf(dump->file, "  message %ld, source %d, tag %d", dump->written, message->status.MPI_SOURCE,
            message->status.MPI_TAG);
    if (bytes != MPI_UNDEFINED)
        fprintf(dump->file, ", %d bytes", bytes);
    dump_end(dump, message->communicator, message->since);
}

static __attribute__((cold, noinline)) void write_dump(int requested)
{
    char path[PATH_MAX];
    dumps_written = requested;
    set_paths();
    if (atomic_load(&dumps_requested) != requested)
        take_slow_paths(); /* another signal arrived meanwhile */
    dump_path(path, sizeof path);
    struct dump dump = {.file = fopen(path, "a"), .now = ticks()};
    if (dump.file == NULL)
        return;
    fprintf(dump.file, "%ld receives and %ld messages in the engine; up to %ld requests are with the MPI library\n",
            overflow.queued, overflow.unexpected, hot_state.native);
    if (overflow.core != NULL) {
        overflow.functions->visit(overflow.core, CORE_POSTED, dump_receive, &dump);
        dump.written = 0;
        overflow.functions->visit(overflow.core, CORE_UNEXPECTED, dump_message, &dump);
    }
    fclose(dump.file);
}

static inline void write_requested_dump(void)
{
    int requested = atomic_load_explicit(&dumps_requested, memory_order_relaxed);
    if (requested != dumps_written)
        write_dump(requested);
}
