/* Waiting that yields the core to others, because MPI libraries wait by polling. */

enum { NAP_NS = 500000 };

/* Communicator of the benchmark's control messages, so that the measured communicator has separate queues. */
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
