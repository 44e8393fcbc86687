/* A halo exchange by threads: each rank runs several, and each of them exchanges the ends of its own strip with the
 * thread of the same number on the ranks beside it, under MPI_THREAD_MULTIPLE, as hybrid codes do whose threads call
 * MPI themselves.
 *
 * Matching: threads post at once into the same queues, and only tags tell their messages apart; order among threads is
 * different in every run. With --comms each thread has a communicator of its own, which an MPI library may map to a
 * queue of its own.
 *
 * The rule of each cell is the mean with its neighbours on a ring, whose eigenvectors are waves. Exits with 77 if the
 * MPI library does not do MPI_THREAD_MULTIPLE. */
#include "example.h"

#include <math.h>
#include <pthread.h>

enum { HALO = 4 };

static long threads = 4, width = 64, steps = 50, comms = 0;
static int ranks, rank;

struct strip {
    pthread_t thread;
    int number;
    MPI_Comm comm;
    double error;
};

static double phase(const struct strip *strip, long i) {
    return 2 * M_PI * (strip->number + 1) * (double)(rank * width + i) / (double)(ranks * width);
}

/* The ends of the strip go left and right, HALO cells of each as messages of their own. */
static void exchange(const struct strip *strip, double *u) {
    MPI_Request requests[4 * HALO], *request = requests;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (int i = 0; i < HALO; i++) {
        /* To the left is even, to the right odd. */
        int tag = 2 * (strip->number * HALO + i);
        MPI_Irecv(&u[HALO + width + i], 1, MPI_DOUBLE, right, tag, strip->comm, request++);
        MPI_Irecv(&u[i], 1, MPI_DOUBLE, left, tag + 1, strip->comm, request++);
    }
    for (int i = 0; i < HALO; i++) {
        int tag = 2 * (strip->number * HALO + i);
        MPI_Isend(&u[HALO + i], 1, MPI_DOUBLE, left, tag, strip->comm, request++);
        MPI_Isend(&u[width + i], 1, MPI_DOUBLE, right, tag + 1, strip->comm, request++);
    }
    MPI_Waitall(4 * HALO, requests, MPI_STATUSES_IGNORE);
}

/* One exchange is enough for HALO steps, as the halo shrinks by one cell on each side with each of them. */
static void *run(void *argument) {
    struct strip *strip = argument;
    double *u = ALLOCATE(double, width + 2 * HALO), *next = ALLOCATE(double, width + 2 * HALO);
    double eigenvalue = 0.5 + 0.5 * cos(phase(strip, 1) - phase(strip, 0)), factor = 1;
    for (long i = 0; i < width; i++) u[HALO + i] = cos(phase(strip, i));
    for (long step = 0; step < steps; step++, factor *= eigenvalue) {
        long stale = step % HALO;
        if (stale == 0) exchange(strip, u);
        for (long i = 1 + stale; i < width + 2 * HALO - 1 - stale; i++)
            next[i] = 0.25 * u[i - 1] + 0.5 * u[i] + 0.25 * u[i + 1];
        double *old = u;
        u = next;
        next = old;
    }
    strip->error = 0;
    for (long i = 0; i < width; i++)
        strip->error = fmax(strip->error, fabs(u[HALO + i] - factor * cos(phase(strip, i))));
    free(u);
    free(next);
    return NULL;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--threads", &threads, "threads of each rank", false},
        {"--width", &width, "cells of a thread's strip, 4 at least", false},
        {"--steps", &steps, "steps; every fourth exchanges", false},
        {"--comms", &comms, "a communicator for each thread", true},
    };
    int provided;
    double error = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (width < HALO) refuse("threads_halo: --width %ld is less than the halo, %d", width, HALO);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0) fprintf(stderr, "threads_halo: this MPI does not provide MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 77;
    }
    struct strip *strips = ALLOCATE(struct strip, threads);
    for (int i = 0; i < threads; i++) {
        strips[i] = (struct strip){.number = i, .comm = MPI_COMM_WORLD};
        if (comms) MPI_Comm_dup(MPI_COMM_WORLD, &strips[i].comm);
    }
    for (long i = 0; i < threads; i++)
        if (pthread_create(&strips[i].thread, NULL, run, &strips[i])) fail("threads_halo: no more threads");
    for (long i = 0; i < threads; i++) {
        pthread_join(strips[i].thread, NULL);
        error = fmax(error, strips[i].error);
        if (comms) MPI_Comm_free(&strips[i].comm);
    }
    free(strips);
    return finish(error < 1e-12, "threads_halo: %d ranks of %ld threads, %s, %ld steps, error %.1e", ranks, threads,
                  comms ? "a communicator each" : "one communicator", steps, error);
}
