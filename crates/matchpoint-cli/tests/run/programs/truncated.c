/* Messages longer than their receives. Rank 0 prints the error of each receive, and then receives a message that fits.
 * The last receive has no request.
 *
 * MPICH 5.0 or Intel MPI report no error for late any-source receives, and for late receives of long messages. This
 * program has no such receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const int lengths[] = {2, 64, 1000, 5000, 20000, 100000, 1000000};
#define LENGTHS (int)(sizeof lengths / sizeof *lengths)
#define MOST 1000000
#define LATE 5000

static char bytes[MOST];

static void print_error(const char *what, int length, int error, const MPI_Status *status)
{
    int class = 0;
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    printf("%s, %d bytes: %s from %d, tag %d\n", what, length, class == MPI_ERR_TRUNCATE ? "truncated" : "NO ERROR",
           status->MPI_SOURCE, status->MPI_TAG);
}

/* The receive is posted before the message is sent, or after the message has arrived. */
static void receive(const char *what, int length, int source, int is_late)
{
    MPI_Request request;
    MPI_Status status;
    int go = 0;
    if (is_late) {
        MPI_Send(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Probe(1, 2, MPI_COMM_WORLD, &status);
    }
    MPI_Irecv(bytes, length / 2, MPI_BYTE, source, 2, MPI_COMM_WORLD, &request);
    if (!is_late)
        MPI_Send(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    int error = MPI_Wait(&request, &status);
    print_error(what, length, error, &status);
    MPI_Recv(bytes, MOST, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &go);
    if (go != length || bytes[length - 1] != 7)
        printf("%s, %d bytes: the next message is WRONG\n", what, length);
}

/* MPI_Waitall of Open MPI returns at the first error. Other libraries wait for all requests, so rank 1 sends the last
 * message later. */
static void wait_for_all(int rank, int early)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int in[3] = {0}, out = 5, long_out[2] = {6, 7}, error;
    if (rank == 0) {
        MPI_Irecv(&in[0], 1, MPI_INT, 1, 10, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, 1, 11, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&in[2], 1, MPI_INT, 1, 12, MPI_COMM_WORLD, &requests[2]);
        if (!early)
            MPI_Send(&out, 1, MPI_INT, 1, 13, MPI_COMM_WORLD);
        error = MPI_Waitall(3, requests, statuses);
        printf("all: %s, first %s\n", error == MPI_ERR_IN_STATUS ? "in status" : error ? "ERROR" : "NO ERROR",
               statuses[0].MPI_ERROR == MPI_ERR_PENDING ? "pending" : statuses[0].MPI_ERROR ? "FAILED" : "complete");
        if (early)
            MPI_Send(&out, 1, MPI_INT, 1, 13, MPI_COMM_WORLD);
        for (int i = 0; i < 3; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        printf("all: received %d\n", in[0]);
    } else if (rank == 1) {
        MPI_Send(long_out, 2, MPI_INT, 0, 12, MPI_COMM_WORLD);
        MPI_Send(&out, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
        MPI_Recv(&out, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&out, 1, MPI_INT, 0, 10, MPI_COMM_WORLD);
    }
}

/* After the barrier, the receive without a request has its message. */
static void free_receive(int rank)
{
    static int in, out = 42;
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(&in, 1, MPI_INT, 1, 20, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (rank == 1) {
        MPI_Ssend(&out, 1, MPI_INT, 0, 20, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("freed: %d\n", in);
}

int main(int argc, char **argv)
{
    int rank, go;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int at = 0; at < LENGTHS; at++) {
        if (rank == 0) {
            receive("posted", lengths[at], 1, 0);
            receive("posted any", lengths[at], MPI_ANY_SOURCE, 0);
            if (lengths[at] <= LATE)
                receive("late", lengths[at], 1, 1);
        } else if (rank == 1) {
            for (int i = 0; i < (lengths[at] <= LATE ? 3 : 2); i++) {
                MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                bytes[lengths[at] - 1] = 7;
                MPI_Send(bytes, lengths[at], MPI_BYTE, 0, 2, MPI_COMM_WORLD);
                MPI_Send(bytes, lengths[at], MPI_BYTE, 0, 3, MPI_COMM_WORLD);
            }
        }
    }
#ifdef OPEN_MPI
    wait_for_all(rank, 1);
#else
    wait_for_all(rank, 0);
#endif
    free_receive(rank);
    if (rank == 0)
        printf("truncated: done\n");
    MPI_Finalize();
    return 0;
}
