/* Waiting that leaves the core to others: MPI libraries wait by asking again and again. */

enum { NAP_NS = 500000 };

/* Communicates for the benchmark itself, so that what is measured has queues of its own. */
static MPI_Comm control;

static void wait_asleep(MPI_Request *request, MPI_Status *status) {
    struct timespec nap = {.tv_nsec = NAP_NS};
    int done;
    MPI_Test(request, &done, status);
    while (!done) {
        nanosleep(&nap, NULL);
        MPI_Test(request, &done, status);
    }
}

static void broadcast_asleep(void *data, int bytes) {
    MPI_Request request;
    MPI_Ibcast(data, bytes, MPI_BYTE, 0, control, &request);
    wait_asleep(&request, MPI_STATUS_IGNORE);
}
