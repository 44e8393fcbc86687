// Shared parts of `semantics`: checks, pseudo-random numbers, and payloads that identify and validate a message.
#ifndef CHECKS_H
#define CHECKS_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Defined once per program: the current section, and the number of repetitions.
extern const char *section;
extern int rank, ranks, effort, failures;
// Truncation: 0 none; 1 short messages; 2 also long messages, and some with an empty buffer. Without Matchpoint, on
// libfabric 2.5.1: shm fails at 1 (the sender of a truncated message gets two completions or none), tcp at 2, and MPICH
// 5.0.2 at 2 on any provider.
extern int truncates;
extern uint64_t seed;

// Prints the first ten failures, with rank and section.
void wrong(const char *form, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(is_right, ...)                                                                                           \
    do {                                                                                                               \
        if (!(is_right)) wrong(__VA_ARGS__);                                                                           \
    } while (0)

// xorshift64* (Vigna): the same numbers on all ranks with the same state.
typedef struct random {
    uint64_t state;
} random_t;

random_t random_of(uint64_t a, uint64_t b, uint64_t c);
uint64_t next_random(random_t *random);
// Returns a number less than `below`.
int random_below(random_t *random, int below);

// The header of a message. A short message has a part of it.
typedef struct header {
    uint32_t source, stream, tag, number;
} header_t;

// Fills a message: its header, then bytes that follow from the header.
void fill(char *message, int bytes, header_t header);
// Returns whether `fill` made the message.
int is_filled(const char *message, int bytes, header_t header);

// Allocates memory, or aborts.
void *memory(size_t bytes);

// Checks all fields of a status.
void check_status(const MPI_Status *status, int source, int tag, int bytes);

// Long enough for sent messages to arrive.
void pause_ms(int milliseconds);

// The partner of this rank in a pair. -1: the last rank of an odd number.
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
