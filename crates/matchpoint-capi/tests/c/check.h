/* Macros and functions of the test programs. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

#define CHECK(holds) \
    do { \
        if (!(holds)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); \
            exit(EXIT_FAILURE); \
        } \
    } while (0)

/* Any source of context 0. */
#define ANY ((uint64_t)MP_ANY_SOURCE)

static inline int is(mp_outcome outcome, int32_t status, uint64_t id) {
    return outcome.status == status && outcome.id == id;
}

/* Returns whether a search found nothing. Its `id` is a place, so any value is right. */
static inline int is_none(mp_outcome outcome) { return outcome.status == MP_NONE; }

#endif
