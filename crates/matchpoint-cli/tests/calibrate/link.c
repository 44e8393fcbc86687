/*
 * A library to preload: messages between processes share an emulated link. Each message occupies one direction of the
 * link for some time. The two locks of the link are in the folder LINK_FOLDER.
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
    /* Only messages of the measurement use the link. */
    if (among == MPI_COMM_WORLD && count > 0) {
        pass(rank < to);
    }
    return PMPI_Send(from, count, of, to, tag, among);
}
