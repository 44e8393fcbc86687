/*
 * Loaded before an MPI library: messages between processes share a link, which each has to itself for a while, in each
 * direction. LINK_FOLDER is where its two locks are.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

static void pass(int direction) {
    struct timespec held = {.tv_nsec = 20000000};
    static int files[2] = {-1, -1};
    if (files[direction] < 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d", getenv("LINK_FOLDER"), direction);
        files[direction] = open(path, O_CREAT | O_RDWR, 0600);
    }
    flock(files[direction], LOCK_EX);
    nanosleep(&held, NULL);
    flock(files[direction], LOCK_UN);
}

int MPI_Send(const void *from, int count, MPI_Datatype of, int to, int tag, MPI_Comm among) {
    int rank;
    PMPI_Comm_rank(among, &rank);
    /* What the benchmark says to itself goes another way. */
    if (among == MPI_COMM_WORLD && count > 0) {
        pass(rank < to);
    }
    return PMPI_Send(from, count, of, to, tag, among);
}
