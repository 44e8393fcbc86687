/* The benchmark of `matchpoint calibrate` and `matchpoint predict validate`.
 *
 * Rank 0 prints the location of every rank and then reads one request after the other from standard input.
 * Launchers forward standard input to rank 0. All ranks get each request. Ranks without a part in it sleep,
 * so that they do not disturb the others on shared cores.
 *
 *     prints: MPCAL1 hello ranks=4 tick_s=1e-09 mpi=MPICH Version: 5.0.2 ...
 *             MPCAL1 rank 0 node=0 package=0 packages=2 cpus=1 host=n001      one line per rank
 *             MPCAL1 ready
 *     reads:  measure 7 high_volume reversed 1000 64 0.005 0.2 0-1,2-3        number, test, order, messages, bytes of
 *                                                                             each, seconds of a batch and of all, pairs
 *     prints: MPCAL1 measured 7 1.2e-05 1.1e-05 ...                           seconds in one direction, by batch
 *     reads:  send 8 4096 0-1                                                 number, bytes, sender and receiver
 *     prints: MPCAL1 sent 8 1                                                 1: eager; 0: after the match
 *     reads:  forget                                                          removes the messages of the last exchange
 *             messages 0>1:800@0 1>0:64@0 ...                                 adds: from, to, bytes, position of the receive
 *             exchange 8 0.2                                                  number, seconds of all repetitions
 *     prints: MPCAL1 exchanged 8 1.2e-05 1.1e-05 ...                          of the slowest rank, by repetition
 *     reads:  arrivals 9
 *     prints: MPCAL1 arrived 9 0 2 0 1                                        number, rank, receives in order of arrival;
 *                                                                             one line per receiving rank
 *     reads:  quit, or the end of the input
 *
 * An invalid request causes `MPCAL1 refused WHY` and ends the job. */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MARK "MPCAL1"

static int rank, ranks;

/* Prints the reason and ends the job. The command reads only rank 0's output. */
static void refuse(const char *why, const char *what) {
    printf(MARK " refused %s%s\n", why, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *memory(size_t bytes) {
    void *found = calloc(bytes > 0 ? bytes : 1, 1);
    if (found == NULL) {
        refuse("there is no memory for the messages", "");
    }
    return found;
}

#include "asleep.h"
#include "place.h"
#include "measurement.h"
#include "exchange.h"
#include "send.h"
#include "irregular.h"
#include "input.h"

static void say_hello(void) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    for (char *at = library; *at != '\0'; at++) {
        if (*at == '\n' || *at == '\r' || *at == '\t') {
            *at = ' ';
        }
    }
    if (rank == 0) {
        printf(MARK " hello ranks=%d tick_s=%.3e mpi=%.300s\n", ranks, MPI_Wtick(), library);
    }
    say_places();
    if (rank == 0) {
        printf(MARK " ready\n");
        fflush(stdout);
    }
}

/* Executes a request. Returns 0 if the request is invalid. */
static int follow(const char *line) {
    if (strncmp(line, "forget", 6) == 0) {
        forget_messages();
        return 1;
    }
    if (strncmp(line, "messages ", 9) == 0) {
        return add_messages(line + 9);
    }
    if (strncmp(line, "exchange ", 9) == 0) {
        return measure_exchange(line);
    }
    if (strncmp(line, "arrivals ", 9) == 0) {
        return tell_arrivals(line);
    }
    if (strncmp(line, "send ", 5) == 0) {
        return try_to_send(line);
    }
    struct measurement asked;
    if (!parse(line, &asked)) {
        return 0;
    }
    measure(&asked);
    free(asked.pairs);
    return 1;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    say_hello();
    char *line = memory(LINE_MAX_BYTES);
    while (next_line(line)) {
        if (!follow(line)) {
            refuse("not a measurement: ", line);
        }
    }
    free(line);
    free(said);
    MPI_Comm_free(&control);
    MPI_Finalize();
    return 0;
}
