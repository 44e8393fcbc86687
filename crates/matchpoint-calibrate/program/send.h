/* Test whether a message is eager (§2 of the paper). */

/* A send that has not completed after this time waits for its receive. */
#define PATIENCE_S 0.02

/* Sends without a posted receive. Returns 1 if the send completes. */
static int is_sent_at_once(int other, char *room, int bytes) {
    MPI_Request request;
    int done = 0;
    double begin = MPI_Wtime();
    MPI_Isend(room, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
    while (!done && MPI_Wtime() - begin < PATIENCE_S) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Send(NULL, 0, MPI_BYTE, other, READY_TAG, control);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return done;
}

/* Posts the receive on request. Until then, the wait lets the library make progress on arrivals. */
static void receive_late(int other, char *room, int bytes) {
    MPI_Request told;
    MPI_Irecv(NULL, 0, MPI_BYTE, other, READY_TAG, control, &told);
    wait_asleep(&told, MPI_STATUS_IGNORE);
    MPI_Recv(room, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Transfers the result of the first rank of a pair to rank 0. */
static int told_to_rank_0(int first, int found) {
    if (first != 0 && rank == first) {
        MPI_Send(&found, 1, MPI_INT, 0, RESULT_TAG, control);
    }
    if (first != 0 && rank == 0) {
        MPI_Request request;
        MPI_Irecv(&found, 1, MPI_INT, first, RESULT_TAG, control, &request);
        wait_asleep(&request, MPI_STATUS_IGNORE);
    }
    return found;
}

/* send NUMBER BYTES FIRST-SECOND */
static int try_to_send(const char *line) {
    int number, bytes, first, second, found = 0;
    int read = sscanf(line, "send %d %d %d-%d", &number, &bytes, &first, &second);
    if (read != 4 || bytes < 0 || first < 0 || second < 0 || first >= ranks || second >= ranks || first == second) {
        return 0;
    }
    char *room = memory(bytes);
    if (rank == first) {
        found = is_sent_at_once(second, room, bytes);
    } else if (rank == second) {
        receive_late(first, room, bytes);
    }
    free(room);
    found = told_to_rank_0(first, found);
    if (rank == 0) {
        printf(MARK " sent %d %d\n", number, found);
        fflush(stdout);
    }
    return 1;
}
