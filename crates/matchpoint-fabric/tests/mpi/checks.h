// What all parts of `semantics` share: checks that say what failed, numbers that follow from a seed, and payloads from
// which a receiver sees whose message it has, and whether it is whole.
#ifndef CHECKS_H
#define CHECKS_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As they are told, once for each part: which section this is, and how much there is to do.
extern const char *section;
extern int rank, ranks, effort, failures;
// What is truncated: 0, nothing; 1, short messages; 2, long ones, too, and some to nothing. By themselves, on libfabric
// 2.5.1: shm fails at 1 (the sender of a truncated message hears twice of it, or never), tcp at 2, and MPICH 5.0.2 at 2
// on any provider.
extern int truncates;
extern uint64_t seed;

// Prints what is wrong, with rank and section: the first ten times.
void wrong(const char *form, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(is_right, ...)                                                                                           \
    do {                                                                                                               \
        if (!(is_right)) wrong(__VA_ARGS__);                                                                           \
    } while (0)

// xorshift64*, of Vigna: the same numbers on every rank that has the same state.
typedef struct random {
    uint64_t state;
} random_t;

random_t random_of(uint64_t a, uint64_t b, uint64_t c);
uint64_t next_random(random_t *random);
// Less than `below`.
int random_below(random_t *random, int below);

// What a message says of itself; one shorter than this says less.
typedef struct header {
    uint32_t source, stream, tag, number;
} header_t;

// Fills a message: its header, and bytes that follow from it.
void fill(char *message, int bytes, header_t header);
// Whether a message is what `fill` made.
int is_filled(const char *message, int bytes, header_t header);

// Memory, or the end of the program.
void *memory(size_t bytes);

// Tells what a status must tell.
void check_status(const MPI_Status *status, int source, int tag, int bytes);

// Long enough that messages that have been sent are there.
void pause_ms(int milliseconds);

// A partner for pairs: those of an odd number of ranks leave the last one alone (-1).
int partner(void);

typedef struct section_s {
    const char *name;
    void (*run)(void);
} section_t;

// The sections of each file.
void sizes(void), modes(void), probes(void), truncation(void), cancelling(void), selves(void), persistent(void);
void storm_expected(void), storm_unexpected(void), storm_mixed(void), storm_probed(void);
void reverse(void), outstanding(void), waits(void);
void derived(void), bottom(void), partitioned(void);
void communicators(void), intercommunicators(void), collectives(void);
void windows_fence(void), windows_lock(void);
void threads(void);
void spawning(const char *program), spawned(void);

#endif
