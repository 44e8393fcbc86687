// Faults and unusual conditions. The result is compared with that of a run without Matchpoint.
//
//     mpiexec -n 4 faults killed|silent|flood|fork [COUNT]
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;

static void ring(int rounds, int bytes, int victim) {
    char *out = calloc(1, (size_t)bytes), *in = calloc(1, (size_t)bytes);
    for (int round = 0; round < rounds; round++) {
        if (rank == victim && round == rounds / 2) raise(SIGKILL);
        memset(out, round + rank, (size_t)bytes);
        int from = (rank + ranks - 1) % ranks;
        MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % ranks, round % 100, in, bytes, MPI_BYTE, from, round % 100,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in[bytes - 1] != (char)(round + from)) printf("rank %d: round %d is wrong\n", rank, round), exit(1);
    }
    free(out), free(in);
}

// Rank 0 waits, then receives in reverse order of the sends. All other ranks send.
static void silent(int count, int bytes) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sleep(2);
        char *in = malloc((size_t)bytes);
        for (int source = 1; source < ranks; source++) {
            for (int at = count - 1; at >= 0; at--) {
                MPI_Recv(in, bytes, MPI_BYTE, source, at, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (in[0] != (char)at || in[bytes - 1] != (char)at) printf("message %d is wrong\n", at), exit(1);
            }
        }
        free(in);
    } else {
        char *out = malloc((size_t)bytes * (size_t)count);
        MPI_Request *requests = malloc(sizeof *requests * (size_t)count);
        for (int at = 0; at < count; at++) {
            memset(out + (size_t)at * (size_t)bytes, at, (size_t)bytes);
            MPI_Isend(out + (size_t)at * (size_t)bytes, bytes, MPI_BYTE, 0, at, MPI_COMM_WORLD, &requests[at]);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        free(out), free(requests);
    }
}

static void forks(void) {
    for (int at = 0; at < 5; at++) {
        ring(50, 1000, -1);
        ring(5, 100000, -1);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            // One child runs its exit handlers, the other calls exec.
            if (at % 2) exit(0);
            execlp("true", "true", NULL);
            _exit(1);
        }
        int status = -1;
        ring(50, 1000, -1);
        waitpid(child, &status, 0);
        if (status != 0) printf("rank %d: the child ended with %d\n", rank, status), exit(1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;
    double began = MPI_Wtime();
    if (!strcmp(what, "killed")) ring(count ? count : 2000, 20000, ranks - 1);
    else if (!strcmp(what, "silent")) silent(count ? count : 20000, 8000);
    else if (!strcmp(what, "flood")) silent(count ? count : 1000000, 16);
    else if (!strcmp(what, "fork")) forks();
    else return 2;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%s: right, %.1f s\n", what, MPI_Wtime() - began);
    MPI_Finalize();
    return 0;
}
