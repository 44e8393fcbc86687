/* Nanoseconds per post and matching arrival through the C interface, for every engine of the library. Behind
 * 0, 64 and 1024 receives that do not match. Minimum and median of 31 runs.
 *
 *     cc -std=c99 -O2 benchmark.c $(pkg-config --cflags --libs matchpoint) -o benchmark && ./benchmark */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <matchpoint.h>

enum { RUNS = 31 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void must(int64_t status, int64_t wanted) {
    if (status != wanted) {
        fprintf(stderr, "benchmark: %s\n", mp_status_text(status));
        exit(EXIT_FAILURE);
    }
}

/* One run: `pairs` posts, each matched by the next arrival. */
static double run_ns(mp_engine *engine, long pairs) {
    const uint64_t peer = mp_pair(0, 1);
    double begin = now_ns();
    long pair;

    for (pair = 0; pair < pairs; pair++) {
        must(mp_post_exact(engine, (uint64_t)pair, peer, 1).status, MP_QUEUED);
        must(mp_arrive(engine, (uint64_t)pair, peer, 1).status, MP_MATCHED);
    }
    return (now_ns() - begin) / (double)pairs;
}

static void measure(const char *name, long depth, long pairs) {
    double runs[RUNS];
    char error[256];
    mp_engine *engine;
    uint64_t ahead;
    int run;

    if (mp_create(name, 0, &engine, error, sizeof error) != MP_OK) {
        fprintf(stderr, "benchmark: %s\n", error);
        exit(EXIT_FAILURE);
    }
    for (ahead = 0; ahead < (uint64_t)depth; ahead++) {
        must(mp_post_exact(engine, UINT64_MAX - ahead, mp_pair(0, 1), 2 + ahead).status, MP_QUEUED);
    }
    for (run = 0; run < RUNS; run++) runs[run] = run_ns(engine, pairs);
    qsort(runs, RUNS, sizeof *runs, ascending);
    printf("%-20s %5ld ahead: %8.1f ns least, %8.1f ns median\n", name, depth, runs[0], runs[RUNS / 2]);
    must(mp_destroy(engine), MP_OK);
}

int main(int count, char **arguments) {
    static const long depths[] = {0, 64, 1024};
    long pairs = count > 1 ? atol(arguments[1]) : 100000;
    size_t engine, depth;

    for (engine = 0; engine < mp_engine_count(); engine++) {
        mp_engine_info info;
        must(mp_engine_describe(engine, &info, sizeof info), MP_OK);
        for (depth = 0; depth < sizeof depths / sizeof *depths; depth++) {
            long fewer = pairs / (1 + depths[depth] / 16);
            measure(info.name, depths[depth], fewer > 0 ? fewer : 1);
        }
    }
    return EXIT_SUCCESS;
}
