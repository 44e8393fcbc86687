/* The beginning and the end (MPI-4.1 §11), and what changes the size of a type. */

CALL(Type_free, "", (MPI_Datatype * type), (type))
{
    if (library_function(&function_Type_free) == NULL)
        return MPI_ERR_OTHER;
    atomic_fetch_add_explicit(&types_freed, 1, memory_order_relaxed);
    return REAL(Type_free)(type);
}

CALL(Init, "", (int *count, char ***arguments), (count, arguments))
{
    library_function(&function_Init);
    uint64_t entered = ticks();
    int result = REAL(Init)(count, arguments);
    return recording_begin(result, CODE(Init), entered);
}

CALL(Init_thread, "", (int *count, char ***arguments, int required, int *provided), (count, arguments, required, provided))
{
    library_function(&function_Init_thread);
    uint64_t entered = ticks();
    int result = REAL(Init_thread)(count, arguments, required, provided);
    return recording_begin(result, CODE(Init_thread), entered);
}

CALL(Finalize, "", (void), ())
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Finalize)();
    offset_find();
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
    return library_function(&function_Abort) ? REAL(Abort)(comm, code) : MPI_ERR_OTHER;
}
