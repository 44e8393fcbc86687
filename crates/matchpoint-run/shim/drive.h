/* Blocking calls while the engine has receives: nonblocking ones, with progress in between. */

/* Waits for a request of the library. The lock is held. */
static int wait_native(MPI_Request *request, MPI_Status *status)
{
    while (always.drives) {
        int flag = 0, result = REAL(Test)(request, &flag, status);
        if (flag || result != MPI_SUCCESS)
            return result;
        make_progress(NULL);
        relax();
    }
    return REAL(Wait)(request, status);
}

/* The send of MPI_Isendrecv has not completed. */
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

/* The library has no request yet that stands for it. */
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

/* The request of the library that stands for a receive of ours. */
static inline MPI_Request *native_of(struct receive *receive)
{
    return receive->state == RECEIVE_STARTED ? &receive->inner : &receive->handle;
}

/* After a completion call on `native_of`: what the program's variable becomes. */
static int settle(struct receive *receive, MPI_Request *request, int result)
{
    if (receive->state != RECEIVE_STARTED || receive->inner != library.request_null)
        return result;
    int error = receive->error;
    if (!receive->is_persistent)
        *request = library.request_null;
    finish_receive(receive);
    return error != MPI_SUCCESS ? error : result;
}
