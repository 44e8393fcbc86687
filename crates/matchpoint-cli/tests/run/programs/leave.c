/* Processes end while messages are pending. Arguments: the kind of end, and the number of messages.
 *
 * finalize   senders finalize while rank 0 still receives
 * freed      the same after MPI_Isend and MPI_Request_free
 * receiver   rank 0 sends, finalizes first, and the other ranks receive late
 * exit       senders finalize, and exit with 3 at once
 * abort      rank 1 calls MPI_Abort while rank 0 sends it messages
 * parent     a spawned process sends, disconnects and finalizes; the parent receives late
 * child      the parent sends, disconnects and finalizes; the spawned process receives late
 * pending    the parent and a spawned process disconnect while sends and receives are pending */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LATE_US 20000

static int messages = 5000;

static void send_all(int peer, MPI_Comm comm, int is_freed)
{
    static int sent[100000]; /* the buffers of freed requests stay in use */
    for (int i = 0; i < messages; i++) {
        sent[i] = i;
        if (is_freed) {
            MPI_Request request;
            MPI_Isend(&sent[i], 1, MPI_INT, peer, 1, comm, &request);
            MPI_Request_free(&request);
        } else {
            MPI_Send(&sent[i], 1, MPI_INT, peer, 1, comm);
        }
    }
}

static int receive_all(int peer, MPI_Comm comm)
{
    int wrong = 0, value;
    for (int i = 0; i < messages; i++) {
        MPI_Recv(&value, 1, MPI_INT, peer, 1, comm, MPI_STATUS_IGNORE);
        wrong += value != i;
    }
    return wrong;
}

/* Messages in both directions, the last one first. */
static int exchange_and_disconnect(MPI_Comm *comm)
{
    int wrong = 0, *sent = malloc(sizeof(int) * (size_t)messages), *received = malloc(sizeof(int) * (size_t)messages);
    MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * (size_t)messages);
    for (int i = 0; i < messages; i++)
        MPI_Irecv(&received[i], 1, MPI_INT, 0, i, *comm, &requests[i]);
    for (int i = messages - 1; i >= 0; i--) {
        sent[i] = i;
        MPI_Isend(&sent[i], 1, MPI_INT, 0, i, *comm, &requests[messages + i]);
    }
    MPI_Comm_disconnect(comm);
    MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < messages; i++)
        wrong += received[i] != i;
    free(sent), free(received), free(requests);
    return wrong;
}

static int end(const char *rank_name, int wrong)
{
    if (rank_name != NULL)
        printf("%s: %s\n", rank_name, wrong == 0 ? "right" : "WRONG");
    fflush(stdout);
    MPI_Finalize();
    return wrong != 0;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    const char *how = argc > 1 ? argv[1] : "finalize";
    MPI_Comm parent, child;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2)
        messages = atoi(argv[2]);
    MPI_Comm_get_parent(&parent);
    int from_child = strcmp(how, "parent") == 0, from_parent = strcmp(how, "child") == 0;
    int is_pending = strcmp(how, "pending") == 0;
    if (parent != MPI_COMM_NULL) {
        if (is_pending)
            return end("child", exchange_and_disconnect(&parent));
        if (from_child) {
            send_all(0, parent, 0);
        } else {
            usleep(LATE_US);
            wrong = receive_all(0, parent);
        }
        MPI_Comm_disconnect(&parent);
        return end("child", wrong);
    }
    if (from_child || from_parent || is_pending) {
        char count[16];
        sprintf(count, "%d", messages);
        char *words[] = {(char *)how, count, NULL};
        MPI_Comm_spawn(argv[0], words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
        if (rank == 0 && is_pending)
            return end("parent", exchange_and_disconnect(&child));
        if (rank == 0 && from_child) {
            usleep(LATE_US);
            wrong = receive_all(0, child);
        } else if (rank == 0) {
            send_all(0, child, 0);
        }
        MPI_Comm_disconnect(&child);
        return end("parent", wrong);
    }
    if (strcmp(how, "receiver") == 0) {
        if (rank == 0) {
            for (int peer = 1; peer < size; peer++)
                send_all(peer, MPI_COMM_WORLD, 0);
        } else {
            usleep(LATE_US);
            wrong = receive_all(0, MPI_COMM_WORLD);
        }
    } else if (rank == 0) {
        usleep(LATE_US);
        for (int peer = 1; peer < size && strcmp(how, "abort") != 0; peer++)
            wrong += receive_all(peer, MPI_COMM_WORLD);
        if (strcmp(how, "abort") == 0)
            send_all(1, MPI_COMM_WORLD, 1);
    } else if (strcmp(how, "abort") == 0) {
        usleep(LATE_US);
        MPI_Abort(MPI_COMM_WORLD, 5);
    } else {
        send_all(0, MPI_COMM_WORLD, strcmp(how, "freed") == 0);
    }
    /* MPI_Abort may end a process before it prints. */
    int status = end(strcmp(how, "abort") == 0 ? NULL : rank == 0 ? "first" : "others", wrong);
    if (rank != 0 && strcmp(how, "exit") == 0)
        exit(3);
    return status;
}
