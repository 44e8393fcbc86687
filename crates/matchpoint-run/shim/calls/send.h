/* Sends of all modes (MPI-4.1 §3.2, 3.4, 3.7, 3.9), and sends joined with a receive (§3.10).
 *
 * A ready send becomes a standard send: its receive may be in the engine, where the library cannot see it. */

#define SEND_PARAMETERS const void *buffer, COUNT count, MPI_Datatype type, int rank, int tag, MPI_Comm comm
#define SEND_ARGUMENTS buffer, count, type, rank, tag, comm

/* In MPICH 5.0, a call returns MPI_SUCCESS after an error handler of the program returns. Its nonblocking call then
 * writes no request. The requests of replaced calls are therefore initialized with MPI_REQUEST_NULL. */

/* Nonblocking sends are first, because BLOCKING_SEND uses them. REALLY is the library's function. */
#define NONBLOCKING_SEND(NAME, REALLY)                                                                   \
    CALL(SIZED(NAME), (SEND_PARAMETERS, MPI_Request *request), (SEND_ARGUMENTS, request))                \
    {                                                                                                    \
        count_request();                                                                                 \
        return REAL(SIZED(REALLY))(SEND_ARGUMENTS, request);                                             \
    }

#define BLOCKING_SEND(NAME, REALLY, NONBLOCKING)                                                         \
    CALL(SIZED(NAME), (SEND_PARAMETERS), (SEND_ARGUMENTS))                                               \
    {                                                                                                    \
        MPI_Request request = library.request_null;                                                      \
        if (LIKELY(!hot_state.needs_progress))                                                           \
            return REAL(SIZED(REALLY))(SEND_ARGUMENTS);                                                  \
        int result = REAL(SIZED(NONBLOCKING))(SEND_ARGUMENTS, &request);                                 \
        return result != MPI_SUCCESS ? result : complete_send(&request);                                 \
    }

#ifndef LARGE
static __attribute__((noinline)) int complete_send(MPI_Request *request)
{
    lock();
    int result = wait_native(request, MPI_STATUS_IGNORE);
    unlock();
    return result;
}

/* Completes both parts of a call that sends and receives. */
static __attribute__((noinline)) int complete_both(MPI_Request *send, MPI_Request *receive, int source, MPI_Comm comm,
                                                   MPI_Status *status)
{
    int sent = complete_send(send), received = complete_receive(receive, status);
    if (source == MPI_PROC_NULL) /* some libraries write the status only in the blocking call */
        REAL(Recv)(NULL, 0, library.byte, MPI_PROC_NULL, MPI_ANY_TAG, comm, status);
    return received != MPI_SUCCESS ? received : sent;
}

/* Packing functions for each type of count. */
#if MPI_VERSION >= 4
#define PACKED_COUNT MPI_Count
#define PACKED(name) name##_c
USED(Pack_c);
USED(Pack_size_c);
DEFINED_BELOW(Isend_c);
#else
#define PACKED_COUNT int
#define PACKED(name) name
USED(Pack);
USED(Pack_size);
#endif

static int raise_error(MPI_Comm comm, int code)
{
    REAL(Comm_call_errhandler)(comm, code);
    return code;
}

/* Sends a copy of a buffer that the receive will overwrite. */
static int send_copy(const void *buffer, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm, void **packed,
                     MPI_Request *request)
{
    PACKED_COUNT size = 0, length = 0;
    int result;
    *packed = NULL;
    if ((result = REAL(PACKED(Pack_size))((PACKED_COUNT)count, type, comm, &size)) != MPI_SUCCESS)
        return result;
    if (size < 0) /* longer than an int, in a library without large counts */
        return raise_error(comm, MPI_ERR_COUNT);
    if ((*packed = malloc(size > 0 ? (size_t)size : 1)) == NULL)
        return raise_error(comm, MPI_ERR_NO_MEM);
    if ((result = REAL(PACKED(Pack))(buffer, (PACKED_COUNT)count, type, *packed, size, &length, comm)) != MPI_SUCCESS)
        return result;
    return REAL(PACKED(Isend))(*packed, length, library.packed, to, tag, comm, request);
}

#ifdef MPI_4
/* The request of a combined call is the receive's, with the send as its pair. If the receive is the library's, a
 * record represents both. */
static int make_pair(MPI_Request send, void *packed, MPI_Request *request, MPI_Comm comm)
{
    struct pair *pair = malloc(sizeof *pair);
    struct receive *receive = find_receive(*request);
    if (pair != NULL && receive == NULL && (receive = take_receive()) != NULL) {
        receive->communicator = find_communicator(comm);
        receive->state = RECEIVE_STARTED;
        receive->inner = *request;
        receive->is_counted = true;
        overflow.active++;
        set_paths();
        *request = receive->handle;
    }
    if (pair == NULL || receive == NULL) {
        free(pair);
        return MPI_ERR_NO_MEM;
    }
    *pair = (struct pair){send, packed};
    receive->pair = pair;
    return MPI_SUCCESS;
}
#endif
#endif

NONBLOCKING_SEND(Isend, Isend)
NONBLOCKING_SEND(Ibsend, Ibsend)
NONBLOCKING_SEND(Issend, Issend)
NONBLOCKING_SEND(Irsend, Isend)

BLOCKING_SEND(Send, Send, Isend)
BLOCKING_SEND(Ssend, Ssend, Issend)
BLOCKING_SEND(Rsend, Send, Isend)

#ifndef LARGE
USED(Send_init);
#else
USED(Send_init_c);
#endif

CALL(SIZED(Rsend_init), (SEND_PARAMETERS, MPI_Request *request), (SEND_ARGUMENTS, request))
{
    return REAL(SIZED(Send_init))(SEND_ARGUMENTS, request);
}

#define PAIR_PARAMETERS                                                                                  \
    const void *out, COUNT out_count, MPI_Datatype out_type, int to, int out_tag, void *in, COUNT in_count, \
        MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm
#define PAIR_ARGUMENTS out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm
#define REPLACE_PARAMETERS                                                                               \
    void *buffer, COUNT count, MPI_Datatype type, int to, int out_tag, int from, int in_tag, MPI_Comm comm
#define REPLACE_ARGUMENTS buffer, count, type, to, out_tag, from, in_tag, comm

/* A combined call goes to the library while no receive overflows. Otherwise the send is first: if the library
 * rejects it, no posted receive can take a message. */
CALL(SIZED(Sendrecv), (PAIR_PARAMETERS, MPI_Status *status), (PAIR_ARGUMENTS, status))
{
    MPI_Request send = library.request_null, receive = library.request_null;
    if (LIKELY(posts_to_library(from) || (from == MPI_PROC_NULL && !hot_state.needs_progress)))
        return REAL(SIZED(Sendrecv))(PAIR_ARGUMENTS, status);
    int result = REAL(SIZED(Isend))(out, out_count, out_type, to, out_tag, comm, &send);
    if (result != MPI_SUCCESS)
        return result;
    if ((result = post_slowly(in, in_count, in_type, from, in_tag, comm, &receive)) != MPI_SUCCESS) {
        REAL(Request_free)(&send);
        return result;
    }
    return complete_both(&send, &receive, from, comm, status);
}

CALL(SIZED(Sendrecv_replace), (REPLACE_PARAMETERS, MPI_Status *status), (REPLACE_ARGUMENTS, status))
{
    MPI_Request send = library.request_null, receive = library.request_null;
    void *packed;
    if (LIKELY(posts_to_library(from) || (from == MPI_PROC_NULL && !hot_state.needs_progress)))
        return REAL(SIZED(Sendrecv_replace))(REPLACE_ARGUMENTS, status);
    int result = send_copy(buffer, count, type, to, out_tag, comm, &packed, &send);
    if (result == MPI_SUCCESS) {
        result = post_slowly(buffer, count, type, from, in_tag, comm, &receive);
        if (result != MPI_SUCCESS) {
            REAL(Request_free)(&send);
            return result; /* the send may still read the copy */
        }
        result = complete_both(&send, &receive, from, comm, status);
    }
    free(packed);
    return result;
}

#ifdef MPI_4
CALL(SIZED(Isendrecv), (PAIR_PARAMETERS, MPI_Request *request), (PAIR_ARGUMENTS, request))
{
    MPI_Request send = library.request_null;
    count_request();
    if (LIKELY(posts_to_library(from)))
        return REAL(SIZED(Isendrecv))(PAIR_ARGUMENTS, request);
    lock();
    int result = REAL(SIZED(Isend))(out, out_count, out_type, to, out_tag, comm, &send);
    if (result == MPI_SUCCESS) {
        result = post_receive(in, in_count, in_type, from, in_tag, comm, request);
        result = result != MPI_SUCCESS ? (REAL(Request_free)(&send), result) : make_pair(send, NULL, request, comm);
    }
    unlock();
    return result;
}

CALL(SIZED(Isendrecv_replace), (REPLACE_PARAMETERS, MPI_Request *request), (REPLACE_ARGUMENTS, request))
{
    MPI_Request send = library.request_null;
    void *packed;
    count_request();
    if (LIKELY(posts_to_library(from)))
        return REAL(SIZED(Isendrecv_replace))(REPLACE_ARGUMENTS, request);
    lock();
    int result = send_copy(buffer, count, type, to, out_tag, comm, &packed, &send);
    if (result != MPI_SUCCESS) {
        free(packed);
    } else {
        result = post_receive(buffer, count, type, from, in_tag, comm, request);
        result = result != MPI_SUCCESS ? (REAL(Request_free)(&send), result) : make_pair(send, packed, request, comm);
    }
    unlock();
    return result;
}
#endif

#undef SEND_PARAMETERS
#undef SEND_ARGUMENTS
#undef NONBLOCKING_SEND
#undef BLOCKING_SEND
#undef PAIR_PARAMETERS
#undef PAIR_ARGUMENTS
#undef REPLACE_PARAMETERS
#undef REPLACE_ARGUMENTS
