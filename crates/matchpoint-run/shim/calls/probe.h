/* Probes (MPI-4.1 §3.8). While the engine has receives or messages of a communicator, a probe uses the engine: the
 * library's queue may have messages that a receive of the engine takes. */

/* The result of a probe in the slow path. */
enum probed { IN_LIBRARY /* the library must be probed */, IN_ENGINE, NOWHERE };

/* Keeps the error field, as the library does. */
static void copy_status(MPI_Status *to, const MPI_Status *from)
{
    if (to == MPI_STATUS_IGNORE)
        return;
    int error = to->MPI_ERROR;
    *to = *from;
    to->MPI_ERROR = error;
}

static enum probed probe_engine(int source, int tag, MPI_Comm comm, bool takes, struct message **message)
{
    struct communicator *communicator;
    if (source == MPI_PROC_NULL || overflow.core == NULL || (communicator = find_communicator(comm)) == NULL ||
        !is_plain(communicator, 0, source, tag))
        return IN_LIBRARY;
    bool uses_engine = hot_state.limit_named == 0 || overflow.watches_always || communicator->watched;
    if (communicator->queued == 0 && communicator->unexpected == 0 && !uses_engine)
        return IN_LIBRARY;
    observe_posting(communicator);
    struct core_envelope envelope = envelope_of(communicator, source, tag);
    if (takes)
        *message = take_unexpected(communicator, source, tag);
    else
        *message = (struct message *)(uintptr_t)overflow.functions->probe(overflow.core, &envelope);
    return *message != NULL ? IN_ENGINE : overflow.is_disabled ? IN_LIBRARY : NOWHERE;
}

static __attribute__((noinline)) int iprobe_slow_path(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct message *message;
    int result = MPI_SUCCESS;
    lock();
    if (hot_state.needs_progress)
        make_progress(NULL);
    enum probed probed = probe_engine(source, tag, comm, false, &message);
    *flag = probed == IN_ENGINE;
    if (probed == IN_ENGINE)
        copy_status(status, &message->status);
    else if (probed == IN_LIBRARY)
        result = REAL(Iprobe)(source, tag, comm, flag, status);
    unlock();
    return result;
}

static __attribute__((noinline)) int improbe_slow_path(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *handle,
                                                       MPI_Status *status)
{
    struct message *message;
    int result = MPI_SUCCESS;
    lock();
    if (hot_state.needs_progress)
        make_progress(NULL);
    enum probed probed = probe_engine(source, tag, comm, true, &message);
    *flag = probed == IN_ENGINE;
    if (probed == IN_ENGINE) {
        copy_status(status, &message->status);
        *handle = message->handle;
        return_message(message);
    } else if (probed == IN_LIBRARY) {
        result = REAL(Improbe)(source, tag, comm, flag, handle, status);
    }
    unlock();
    return result;
}

#if MPI_VERSION >= 4
/* The sender may wait for a receive of the engine before MPI_Pready. */
CALL(Parrived, (MPI_Request request, int partition, int *flag), (request, partition, flag))
{
    if (hot_state.needs_progress) {
        lock();
        make_progress(NULL);
        unlock();
    }
    return REAL(Parrived)(request, partition, flag);
}
#endif

CALL(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (source, tag, comm, flag, status))
{
    if (!LIKELY(!hot_state.has_slow_posts))
        return iprobe_slow_path(source, tag, comm, flag, status);
    if (LIKELY(--hot_state.until_sample > 0))
        return REAL(Iprobe)(source, tag, comm, flag, status);
    uint64_t before = ticks();
    int result = REAL(Iprobe)(source, tag, comm, flag, status);
    evaluate_sample(ticks() - before, comm);
    return result;
}

CALL(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, status))
{
    if (LIKELY(!hot_state.has_slow_posts))
        return REAL(Improbe)(source, tag, comm, flag, message, status);
    return improbe_slow_path(source, tag, comm, flag, message, status);
}

/* A blocking probe polls while the engine has entries. */
CALL(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status))
{
    int flag = 0, result;
    if (LIKELY(!hot_state.has_slow_posts))
        return REAL(Probe)(source, tag, comm, status);
    while ((result = iprobe_slow_path(source, tag, comm, &flag, status)) == MPI_SUCCESS && !flag)
        relax_unlocked();
    return result;
}

CALL(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, message, status))
{
    int flag = 0, result;
    if (LIKELY(!hot_state.has_slow_posts))
        return REAL(Mprobe)(source, tag, comm, message, status);
    while ((result = improbe_slow_path(source, tag, comm, &flag, message, status)) == MPI_SUCCESS && !flag)
        relax_unlocked();
    return result;
}
