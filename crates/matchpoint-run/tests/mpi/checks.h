// Shared parts of the MPI test programs: options, a time limit, checks, and receives that fill the posted queue.
//
// Each program prints `NAME: right` on rank 0 and exits with 0, or reports each failure and exits with 1. The option
// `--fill N` sets how many receives are posted before the checked operation. The default of 200 exceeds every overflow
// limit that the tests use.
#ifndef CHECKS_H
#define CHECKS_H

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARED __attribute__((unused)) static

// Open MPI 5.0 reports MPI 3.1 but has sessions, partitioned communication and MPI_Isendrecv.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI4_CALLS 1
#else
#define HAS_MPI4_CALLS 0
#endif

// MPICH 4.0 does not write the status of a nonblocking receive from MPI_PROC_NULL.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000 && !defined(I_MPI_VERSION)
#define HAS_PROC_NULL_STATUS 0
#else
#define HAS_PROC_NULL_STATUS 1
#endif

enum { TIME_LIMIT_S = 120, MOST_REPORTS = 10, FILL_TAG = 20000, FILL_TAGS = 50 };

SHARED const char *test_name = "test", *step = "start";
SHARED int rank, ranks, left, right, fill_count;
SHARED atomic_int failures;

// Prints a failure with test, step and rank. At most MOST_REPORTS failures per rank are printed.
__attribute__((format(printf, 2, 3))) SHARED void report_failure(int line, const char *form, ...) {
    if (atomic_fetch_add(&failures, 1) >= MOST_REPORTS) return;
    char text[512];
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(text, sizeof text, form, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: rank %d: %s: line %d: %s\n", test_name, rank, step, line, text);
    fflush(stderr);
}

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) report_failure(__LINE__, __VA_ARGS__);                                                       \
    } while (0)

// Prints on rank 0 that a check does not run with this MPI library.
SHARED void report_skip(const char *check, const char *reason) {
    if (rank == 0) printf("%s: skipped %s: %s\n", test_name, check, reason), fflush(stdout);
}

SHARED void write_text(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(2);
}

// Signal handler: uses only functions that are safe in one.
SHARED void report_time_limit(int signal) {
    (void)signal;
    write_text(test_name), write_text(": "), write_text(step), write_text(": not finished within the time limit\n");
    _exit(1);
}

// The value after option `name`, or `otherwise`.
SHARED long option(int argc, char **argv, const char *name, long otherwise) {
    for (int at = 1; at + 1 < argc; at++) {
        if (strcmp(argv[at], name) == 0) return atol(argv[at + 1]);
    }
    return otherwise;
}

SHARED const char *option_text(int argc, char **argv, const char *name) {
    for (int at = 1; at + 1 < argc; at++) {
        if (strcmp(argv[at], name) == 0) return argv[at + 1];
    }
    return NULL;
}

SHARED int has_flag(int argc, char **argv, const char *name) {
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], name) == 0) return 1;
    }
    return 0;
}

// Starts the time limit and reads the options. For programs that initialize MPI otherwise.
SHARED void begin_without_mpi(int argc, char **argv, const char *name) {
    test_name = name;
    signal(SIGALRM, report_time_limit);
    alarm((unsigned)option(argc, argv, "--limit", TIME_LIMIT_S));
    fill_count = (int)option(argc, argv, "--fill", 200);
}

SHARED void find_neighbours(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
}

SHARED void begin(int *argc, char ***argv, const char *name) {
    begin_without_mpi(*argc, *argv, name);
    MPI_Init(argc, argv);
    find_neighbours();
}

// Prints the result and finalizes MPI. Returns the exit status.
SHARED int finish(void) {
    int own = failures, sum = 0;
    step = "finish";
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s: %s\n", test_name, sum ? "wrong" : "right"), fflush(stdout);
    MPI_Finalize();
    return sum != 0;
}

SHARED void *allocate(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) {
        fprintf(stderr, "%s: cannot allocate %zu bytes\n", test_name, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

SHARED int payload_at(int source, int tag, int at) { return source * 1000003 + tag * 101 + at * 7 + 1; }

SHARED void fill_payload(int *buffer, int ints, int source, int tag) {
    for (int at = 0; at < ints; at++) buffer[at] = payload_at(source, tag, at);
}

SHARED int has_payload(const int *buffer, int ints, int source, int tag) {
    for (int at = 0; at < ints; at++) {
        if (buffer[at] != payload_at(source, tag, at)) return 0;
    }
    return 1;
}

SHARED int count_of(const MPI_Status *status) {
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes;
}

SHARED void check_status_at(int line, const MPI_Status *status, int source, int tag, int bytes, int is_received) {
    int count = count_of(status), is_cancelled = 0;
    if (is_received) MPI_Test_cancelled(status, &is_cancelled);
    if (status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes && !is_cancelled) return;
    report_failure(line, "status has source %d, tag %d, %d bytes, cancelled %d; expected source %d, tag %d, %d bytes",
                   status->MPI_SOURCE, status->MPI_TAG, count, is_cancelled, source, tag, bytes);
}
#define CHECK_STATUS(status, source, tag, bytes) check_status_at(__LINE__, status, source, tag, bytes, 1)

// The status of a probe: MPI does not define MPI_Test_cancelled for it.
#define CHECK_PROBED(status, source, tag, bytes) check_status_at(__LINE__, status, source, tag, bytes, 0)

// MPI 4.1, section 3.7.3: the status of a null or inactive request.
#define CHECK_EMPTY(status) check_status_at(__LINE__, status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 1)

// Sends a message of `ints` integers with the payload of this rank and tag.
SHARED void send_payload(int to, int tag, int ints, MPI_Comm comm) {
    int *buffer = allocate((size_t)ints * sizeof *buffer), own;
    MPI_Comm_rank(comm, &own);
    fill_payload(buffer, ints, own, tag);
    MPI_Send(buffer, ints, MPI_INT, to, tag, comm);
    free(buffer);
}

// Receives that stay pending until their messages are sent with send_fillers. One in four uses MPI_ANY_SOURCE.
typedef struct filler {
    int count, *values;
    MPI_Request *requests;
} filler_t;

SHARED filler_t post_fillers(MPI_Comm comm, int source, int count) {
    filler_t filler = {count, allocate((size_t)count * sizeof(int)), allocate((size_t)count * sizeof(MPI_Request))};
    for (int at = 0; at < count; at++) {
        filler.values[at] = -1;
        MPI_Irecv(&filler.values[at], 1, MPI_INT, at % 4 ? source : MPI_ANY_SOURCE, FILL_TAG + at % FILL_TAGS, comm,
                  &filler.requests[at]);
    }
    return filler;
}

SHARED void send_fillers(MPI_Comm comm, int to, int count) {
    int *values = allocate((size_t)count * sizeof *values);
    MPI_Request *requests = allocate((size_t)count * sizeof *requests);
    for (int at = 0; at < count; at++) {
        values[at] = at;
        MPI_Isend(&values[at], 1, MPI_INT, to, FILL_TAG + at % FILL_TAGS, comm, &requests[at]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(values), free(requests);
}

SHARED void wait_fillers(filler_t *filler) {
    MPI_Waitall(filler->count, filler->requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < filler->count; at++) {
        CHECK(filler->values[at] == at, "filling receive %d has message %d", at, filler->values[at]);
    }
    free(filler->values), free(filler->requests);
    *filler = (filler_t){0};
}

// Collective: every rank posts `fill_count` receives from its left neighbour.
SHARED filler_t fill_queue(MPI_Comm comm) {
    int own, size;
    MPI_Comm_rank(comm, &own), MPI_Comm_size(comm, &size);
    return post_fillers(comm, (own + size - 1) % size, fill_count);
}

// Collective: sends the messages of the filling receives and completes them.
SHARED void empty_queue(MPI_Comm comm, filler_t *filler) {
    int own, size;
    MPI_Comm_rank(comm, &own), MPI_Comm_size(comm, &size);
    send_fillers(comm, (own + 1) % size, filler->count);
    wait_fillers(filler);
}

// xorshift64*: the same numbers for the same seed.
typedef struct random {
    uint64_t state;
} random_t;

SHARED int random_below(random_t *random, int below) {
    uint64_t x = random->state;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    random->state = x;
    return (int)((x * 0x2545F4914F6CDD1Du >> 33) % (uint64_t)below);
}

SHARED random_t random_from(long seed, int stream) {
    random_t random = {(uint64_t)seed * 0x9E3779B97F4A7C15u ^ ((uint64_t)stream + 1) * 0xBF58476D1CE4E5B9u};
    if (random.state == 0) random.state = 1;
    for (int at = 0; at < 8; at++) random_below(&random, 2);
    return random;
}

SHARED void shuffle(int *numbers, int count, random_t *random) {
    for (int at = count - 1; at > 0; at--) {
        int with = random_below(random, at + 1), kept = numbers[at];
        numbers[at] = numbers[with], numbers[with] = kept;
    }
}

#endif
