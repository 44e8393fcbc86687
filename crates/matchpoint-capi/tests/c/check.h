/* What the programs that try every function have in common. */
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

static const mp_selector ANY = {0, MP_ANY_TAG, 0, MP_ANY_SOURCE};

static inline mp_selector asks(uint32_t source, uint64_t tag) {
    mp_selector selector = {0, 0, 0, 0};
    selector.source = source;
    selector.tag = tag;
    return selector;
}

static inline mp_envelope says(uint32_t source, uint64_t tag) {
    mp_envelope envelope = {0, 0, 0};
    envelope.source = source;
    envelope.tag = tag;
    return envelope;
}

#endif
