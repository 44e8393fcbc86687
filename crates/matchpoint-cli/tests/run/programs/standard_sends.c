/* Counts the standard sends that return before a receive is posted: MPI_Send, and MPI_Isend with MPI_Wait, in turn.
 * Arguments: "one" (each rank sends to rank 0) or "all" (rank 0 sends to each other rank), and optionally lengths.
 *
 * The receiver makes progress, and posts the receives when no send has returned for PATIENCE_S. The ranks share the
 * counts in a file in the working folder, because further messages would disturb the matching. */
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MESSAGES 1000
#define PATIENCE_S 0.5 /* Longer than a busy host interrupts a sender, in seconds. */
#define MOST_RANKS 64

#define LENGTHS 9
#define MOST_BYTES 65536

static int lengths[LENGTHS] = {0, 100, 200, 1000, 1100, 4000, 8192, 16384, MOST_BYTES};

static volatile int *returned; /* Returned sends, by sender or receiver other than rank 0. */

static int *share_counts(int rank)
{
    size_t bytes = sizeof(int) * LENGTHS * MOST_RANKS;
    int file = -1;
    if (rank == 0)
        file = open("counts", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (rank == 0 && ftruncate(file, (off_t)bytes) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        file = open("counts", O_RDWR);
    int *counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counts == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 2);
    close(file);
    return counts;
}

static void send_all(int length, int index, int peer, char *bytes)
{
    MPI_Request request;
    for (int i = 0; i < MESSAGES; i++) {
        memset(bytes, i % 128, (size_t)length);
        if (i % 2 == 0) {
            MPI_Send(bytes, length, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        } else {
            MPI_Isend(bytes, length, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        returned[index]++;
    }
}

/* Makes progress until no send has returned for PATIENCE_S. */
static void wait_for_silence(const volatile int *counts, int number)
{
    int before = -1, found;
    double since = MPI_Wtime();
    while (MPI_Wtime() - since < PATIENCE_S) {
        int now = 0;
        for (int i = 0; i < number; i++)
            now += counts[i];
        if (now != before)
            since = MPI_Wtime();
        before = now;
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        usleep(100);
    }
}

static int receive_all(int length, int peer, char *bytes)
{
    int wrong = 0;
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(bytes, length, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < length; at++)
            wrong += bytes[at] != i % 128;
    }
    return wrong;
}

static void report(int length, int peer, int count)
{
    char text[32];
    sprintf(text, "%d", count);
    printf("%d bytes, rank %d: %s of %d sends return\n", length, peer, count == MESSAGES ? "all" : text, MESSAGES);
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to_all = argc > 1 && strcmp(argv[1], "all") == 0;
    int number = argc > 2 ? argc - 2 : LENGTHS;
    for (int at = 0; at < argc - 2; at++)
        lengths[at] = atoi(argv[2 + at]);
    char *bytes = malloc(MOST_BYTES);
    int *counts = share_counts(rank);
    for (int at = 0; at < number; at++) {
        int length = lengths[at];
        returned = counts + at * MOST_RANKS;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && to_all) {
            for (int peer = 1; peer < size; peer++)
                send_all(length, peer, peer, bytes);
        } else if (rank == 0) {
            wait_for_silence(returned, size);
            for (int peer = 1; peer < size; peer++)
                report(length, peer, returned[peer]);
            for (int peer = 1; peer < size; peer++)
                wrong += receive_all(length, peer, bytes);
        } else if (to_all) {
            wait_for_silence(returned, size);
            report(length, rank, returned[rank]);
            wrong += receive_all(length, 0, bytes);
        } else {
            send_all(length, rank, 0, bytes);
        }
    }
    printf("rank %d: %s\n", rank, wrong == 0 ? "right" : "WRONG");
    fflush(stdout);
    MPI_Finalize();
    return wrong != 0;
}
