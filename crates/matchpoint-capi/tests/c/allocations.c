/* Counts the allocations in the first rounds of calls on an engine, and in later rounds. Prints both numbers. */
#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

/* Functions of glibc that the replacements below call. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);

static unsigned long allocations;

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    allocations++;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : 12;
}

enum { ENTRIES = 200, WARMING = 20, LATER = 200 };

static void check_status(int64_t status, int64_t expected) {
    if (status != expected) abort();
}

static void delivered(void *user, size_t number, uint64_t receive) { ((uint64_t *)user)[number] = receive; }

/* Matches posted receives and unexpected messages: single and in batches, with and without wildcards, with probes and
 * a cancel. */
static void round_of_calls(mp_engine *engine) {
    static mp_message batch[ENTRIES];
    static mp_outcome outcomes[ENTRIES];
    static uint64_t receives[ENTRIES];
    const uint64_t any = mp_pair(0, MP_ANY_SOURCE);
    uint64_t at;
    size_t done;

    for (at = 0; at < ENTRIES; at++) {
        uint64_t pair = at % 7 == 0 ? any : mp_pair(0, at % 5);
        check_status(mp_post(engine, at, pair, at, at % 11 == 0 ? MP_ANY_TAG : 0).status, MP_QUEUED);
        batch[at].id = batch[at].tag = at;
        batch[at].pair = mp_pair(0, at % 5);
    }
    check_status(mp_cancel(engine, 0, any, 0, MP_ANY_TAG), MP_FOUND);
    check_status(mp_arrive_batch(engine, batch, ENTRIES, outcomes, &done, NULL, NULL), MP_OK);
    while (mp_posted_len(engine) > 0) check_status(mp_arrive(engine, ENTRIES + at++, batch[0].pair, 0).status < 0, 0);
    check_status(mp_probe(engine, any, 0, MP_ANY_TAG).status, MP_FOUND);
    check_status(mp_matched_probe(engine, any, 0, MP_ANY_TAG).status, MP_FOUND);
    while (mp_unexpected_len(engine) > 0) check_status(mp_post(engine, 0, any, 0, MP_ANY_TAG).status, MP_MATCHED);
    for (at = 0; at < ENTRIES; at++) check_status(mp_post_exact(engine, at, batch[at].pair, at).status, MP_QUEUED);
    check_status(mp_arrive_batch(engine, batch, ENTRIES, outcomes, &done, delivered, receives), MP_OK);
    for (at = 0; at < ENTRIES; at++) check_status(receives[at] == at, 1);
    for (at = 0; at < ENTRIES; at++) check_status(mp_arrive(engine, at, batch[at].pair, at).status, MP_QUEUED);
    for (at = ENTRIES; at-- > 0;) check_status(mp_post_exact(engine, at, batch[at].pair, at).status, MP_MATCHED);
}

int main(int count, char **arguments) {
    mp_engine *engine;
    unsigned long before, warming;
    int round;

    before = allocations;
    check_status(mp_create(count > 1 ? arguments[1] : "list", 0, &engine, NULL, 0), MP_OK);
    for (round = 0; round < WARMING; round++) round_of_calls(engine);
    warming = allocations - before;
    before = allocations;
    for (round = 0; round < LATER; round++) round_of_calls(engine);
    before = allocations - before;
    printf("%lu %lu\n", warming, before);
    check_status(mp_destroy(engine), MP_OK);
    return 0;
}
