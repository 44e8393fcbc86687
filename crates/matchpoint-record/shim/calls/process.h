/* Initialization and finalization (MPI-4.1 §11), and functions that change the size of a datatype. */

CALL(Type_free, "", (MPI_Datatype * type), (type))
{
    library_ready();
    atomic_fetch_add_explicit(&hot_state.types_freed, 1, memory_order_relaxed);
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
    world.open |= !FAILED(result);
    return record_first_call(result, CODE(Init), entered);
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
    world.open |= !FAILED(result);
    return record_first_call(result, CODE(Init_thread), entered);
}

static _Atomic int sessions_open;

#ifdef MPI_4
CALL(Session_init, "", (MPI_Info info, MPI_Errhandler handler, MPI_Session *session), (info, handler, session))
{
    library_ready();
    uint64_t entered = ticks();
    int result = REAL(Session_init)(info, handler, session);
    if (FAILED(result))
        return result;
    atomic_fetch_add(&sessions_open, 1);
    if (recording_is_due(result)) {
        if (world_find_by_session(*session))
            recording_begin(false);
        else
            atomic_store(&recording, RECORDING_NOT_YET); /* another session may provide the group */
    } else if (!world.group_known) {
        world_group_by_session(*session);
    }
    return record_first_call(result, CODE(Session_init), entered);
}

/* Another session may follow, so the end is written when the process exits. Objects of this session are freed,
 * because a library may refuse to finalize a session with live objects. */
CALL(Session_finalize, "", (MPI_Session * session), (session))
{
    world_group_release(*session);
    struct lane *lane = enter();
    uint64_t entered = ticks();
    int result = REAL(Session_finalize)(session);
    if (!FAILED(result))
        atomic_fetch_sub(&sessions_open, 1);
    if (lane == NULL)
        return result;
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Session_finalize), entered, result);
    put_plain(lane, CODE(Session_finalize), entered);
    return leave(lane, result);
}
#endif

/* If sessions stay open, the end is written when the process exits. */
CALL(Finalize, "", (void), ())
{
    struct lane *lane = enter();
    offset_end();
    search_end();
    queues_close();
    unsigned before = 0;
    if (lane != NULL) {
        recording_pause();
        before = begin_callbacks(lane);
    }
    uint64_t entered = ticks();
    int result = REAL(Finalize)();
    world.open &= FAILED(result);
    if (lane == NULL)
        return result;
    entered = end_callbacks(lane, before, entered);
    put_plain(lane, CODE(Finalize), entered);
    if (sessions_open == 0)
        recording_end("finalize");
    return leave(lane, result);
}

/* MPI_Abort is recorded in any context, for example in an error handler within another call. */
CALL(Abort, "", (MPI_Comm comm, int code), (comm, code))
{
    struct lane *lane = enter();
    if (lane != NULL)
        put_plain(lane, CODE(Abort), ticks());
    recording_end("abort");
    return REAL(Abort)(comm, code);
}
