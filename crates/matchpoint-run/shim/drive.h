/* Blocking calls while the engine has receives: nonblocking calls with progress in between. */

/* Waits for a request of the library, with the lock held. */
static int wait_native(MPI_Request *request, MPI_Status *status)
{
    while (hot_state.needs_progress) {
        int flag = 0, result = REAL(Test)(request, &flag, status);
        if (flag || result != MPI_SUCCESS)
            return result;
        make_progress(NULL);
        relax();
    }
    return REAL(Wait)(request, status);
}

/* Returns whether the send of MPI_Isendrecv is incomplete. */
static bool is_pair_pending(struct receive *receive)
{
    struct pair *pair = receive->pair;
    int flag = 1;
    if (pair == NULL)
        return false;
    if (REAL(Test)(&pair->send, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag)
        return true;
    uncount(1);
    free(pair->packed);
    free(pair);
    receive->pair = NULL;
    return false;
}

/* Returns whether the library has no request for the receive yet. */
static inline bool is_pending(struct receive *receive)
{
    return receive->state == RECEIVE_QUEUED || is_pair_pending(receive);
}

static void wait_while_pending(struct receive *receive)
{
    while (is_pending(receive)) {
        make_progress(receive);
        if (!is_pending(receive))
            return;
        relax();
    }
}

/* Returns the library's request for a receive. */
static inline MPI_Request *native_of(struct receive *receive)
{
    return receive->state == RECEIVE_STARTED ? &receive->inner : &receive->handle;
}

/* Updates the program's request after a completion call on `native_of`. */
static int update_request(struct receive *receive, MPI_Request *request, int result)
{
    if (receive->state != RECEIVE_STARTED || receive->inner != library.request_null)
        return result;
    int error = receive->error;
    if (!receive->is_persistent)
        *request = library.request_null;
    finish_receive(receive);
    return error != MPI_SUCCESS ? error : result;
}
