/* Receives, alone and joined with sends (MPI-4.1 §3.2.4, 3.7, 3.9, 3.10), and receives of matched messages (§3.8.3). */

#ifndef LARGE
/* Returns whether the receive goes directly to the library. */
static inline bool posts_to_library(int source)
{
    return !hot_state.has_slow_posts && is_below_limit(source);
}

/* Waits for the request of a blocking call. */
static __attribute__((noinline)) int complete_receive(MPI_Request *request, MPI_Status *status)
{
    lock();
    struct receive *receive = hot_state.translates_requests ? find_receive(*request) : NULL;
    int result;
    if (receive == NULL) {
        uncount(*request != library.request_null);
        result = wait_native(request, status);
    } else {
        wait_while_pending(receive);
        bool was_native = receive->state == RECEIVE_NATIVE;
        result = update_request(receive, request, wait_native(native_of(receive), status));
        if (was_native) {
            receive->state = RECEIVE_IDLE;
            uncount(1);
        }
    }
    unlock();
    return result;
}

/* Posts and completes a receive. */
static __attribute__((noinline)) int receive_slowly(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                                    MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request = library.request_null;
    const struct type *known;
    lock();
    if (check_receive(buffer, count, type, source, tag, comm, &known) == NULL) {
        unlock();
        return library_recv(buffer, count, type, source, tag, comm, status);
    }
    int result = post_receive(buffer, count, type, source, tag, comm, &request);
    unlock();
    return result != MPI_SUCCESS ? result : complete_receive(&request, status);
}

static __attribute__((noinline)) int post_slowly(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                                 MPI_Comm comm, MPI_Request *request)
{
    lock();
    int result = post_receive(buffer, count, type, source, tag, comm, request);
    unlock();
    return result;
}

/* Records a persistent receive, which may be started in the engine. The record keeps a datatype that the program may
 * free. */
static __attribute__((noinline)) void record_persistent(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                                        MPI_Comm comm, MPI_Request handle)
{
    const struct type *known;
    if (source == MPI_PROC_NULL || overflow.core == NULL)
        return;
    lock();
    struct communicator *communicator = find_communicator(comm);
    struct receive *receive = NULL;
    if (communicator != NULL && (known = find_type(type, comm)) != NULL && map_reserve() &&
        (receive = calloc(1, sizeof *receive)) != NULL) {
        receive->buffer = buffer;
        receive->count = count;
        receive->type = type;
        receive->communicator = communicator;
        receive->source = source;
        receive->tag = tag;
        receive->bytes = known->size * (uint64_t)count;
        receive->is_derived = known->is_derived && REAL(Type_dup)(type, &receive->type) == MPI_SUCCESS;
        communicator->persistent++;
        register_persistent(receive, handle);
    }
    unlock();
}
#endif

static __attribute__((noinline)) int SIZED(time_irecv)(void *buffer, COUNT count, MPI_Datatype type, int source, int tag,
                                                       MPI_Comm comm, MPI_Request *request);

CALL(SIZED(Irecv),
     (void *buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buffer, count, type, source, tag, comm, request))
{
    if (!LIKELY(posts_to_library(source)))
        return post_slowly(buffer, count, type, source, tag, comm, request);
    hot_state.receives++;
    count_receive(source);
    if (LIKELY(--hot_state.until_sample > 0))
        return REAL(SIZED(Irecv))(buffer, count, type, source, tag, comm, request);
    return SIZED(time_irecv)(buffer, count, type, source, tag, comm, request);
}

static int SIZED(time_irecv)(void *buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                             MPI_Request *request)
{
    uint64_t before = ticks();
    int result = REAL(SIZED(Irecv))(buffer, count, type, source, tag, comm, request);
    evaluate_sample(ticks() - before, comm);
    return result;
}

CALL(SIZED(Recv), (void *buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),
     (buffer, count, type, source, tag, comm, status))
{
    if (LIKELY(posts_to_library(source) && --hot_state.until_sample > 0)) {
        hot_state.receives++;
        return REAL(SIZED(Recv))(buffer, count, type, source, tag, comm, status);
    }
    return receive_slowly(buffer, count, type, source, tag, comm, status);
}

CALL(SIZED(Recv_init),
     (void *buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buffer, count, type, source, tag, comm, request))
{
    int result = REAL(SIZED(Recv_init))(buffer, count, type, source, tag, comm, request);
    if (result == MPI_SUCCESS)
        record_persistent(buffer, count, type, source, tag, comm, *request);
    return result;
}

/* MPI_Mrecv is not replaced: it waits for data that the sender's library sends in any call. */
CALL(SIZED(Imrecv), (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
     (buffer, count, type, message, request))
{
    count_request();
    return REAL(SIZED(Imrecv))(buffer, count, type, message, request);
}
