/* The beginning and the end (MPI-4.1 §11), and what changes the size of a type. */

CALL(Type_free, "", (MPI_Datatype * type), (type))
{
    library_ready();
    atomic_fetch_add_explicit(&types_freed, 1, memory_order_relaxed);
    return REAL(Type_free)(type);
}

CALL(Init, "", (int *count, char ***arguments), (count, arguments))
{
    library_ready();
    uint64_t entered = ticks();
    int result = REAL(Init)(count, arguments);
    if (recording_is_due(result)) {
        world_find();
        recording_begin(true);
    }
    return recorded_beginning(result, CODE(Init), entered);
}

CALL(Init_thread, "", (int *count, char ***arguments, int required, int *provided), (count, arguments, required, provided))
{
    library_ready();
    uint64_t entered = ticks();
    int result = REAL(Init_thread)(count, arguments, required, provided);
    if (recording_is_due(result)) {
        world_find();
        recording_begin(true);
    }
    return recorded_beginning(result, CODE(Init_thread), entered);
}

#ifdef MPI_4
static _Atomic int sessions_open;

CALL(Session_init, "", (MPI_Info info, MPI_Errhandler handler, MPI_Session *session), (info, handler, session))
{
    library_ready();
    uint64_t entered = ticks();
    int result = REAL(Session_init)(info, handler, session);
    if (!FAILED(result))
        atomic_fetch_add(&sessions_open, 1);
    if (recording_is_due(result) && world_find_by_session(*session))
        recording_begin(false);
    return recorded_beginning(result, CODE(Session_init), entered);
}

/* Another session may follow: the end is written as the process leaves. */
CALL(Session_finalize, "", (MPI_Session * session), (session))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Session_finalize)(session);
    uint64_t entered = ticks();
    int result = REAL(Session_finalize)(session);
    put_plain(lane, CODE(Session_finalize), entered);
    if (!FAILED(result) && atomic_fetch_sub(&sessions_open, 1) == 1)
        recording_leaves_in_order = true;
    return leave(lane, result);
}
#endif

CALL(Finalize, "", (void), ())
{
    struct lane *lane = enter();
    if (world.all_record)
        offset_find(true);
    queues_close();
    if (lane == NULL)
        return REAL(Finalize)();
    recording_pause();
    uint64_t entered = ticks();
    int result = REAL(Finalize)();
    put_plain(lane, CODE(Finalize), entered);
    recording_end("finalize");
    return leave(lane, result);
}

CALL(Abort, "", (MPI_Comm comm, int code), (comm, code))
{
    struct lane *lane = enter();
    if (lane != NULL) {
        put_plain(lane, CODE(Abort), ticks());
        recording_end("abort");
    }
    return REAL(Abort)(comm, code);
}
