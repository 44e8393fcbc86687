/* A halo exchange by threads. Each rank runs several threads. Each thread exchanges the ends of its strip
 * with the thread of the same number on the neighbouring ranks, with MPI_THREAD_MULTIPLE, as in hybrid codes
 * with MPI calls in threads.
 *
 * Matching: threads post concurrently to the same queues, and only tags separate their messages. The order
 * among threads differs in every run. With --comms each thread has a separate communicator, which an MPI
 * library may map to a separate queue.
 *
 * Each cell becomes the mean with its neighbours on a ring; the eigenvectors are waves. Exits with 77 if the
 * MPI library does not support MPI_THREAD_MULTIPLE. */
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

/* Sends the ends of the strip to the left and right, HALO cells of each as separate messages. */
static void exchange(const struct strip *strip, double *u) {
    MPI_Request requests[4 * HALO], *request = requests;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (int i = 0; i < HALO; i++) {
        /* Even to the left, odd to the right. */
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

/* One exchange suffices for HALO steps, because the halo shrinks by one cell per side and step. */
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
