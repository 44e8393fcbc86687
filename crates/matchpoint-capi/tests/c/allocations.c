/* Counts allocations: of the first rounds of calls on an engine, and of many more once it is warm. Prints both. */
#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

/* glibc's functions, which the functions below replace. */
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

enum { ENTRIES = 200, WARMING = 20, WARM = 200 };

static void must(int64_t status, int64_t wanted) {
    if (status != wanted) abort();
}

static void delivered(void *user, size_t number, uint64_t receive) { ((uint64_t *)user)[number] = receive; }

/* Posted and then matched, queued and then posted for, probed, cancelled, in batches, with wildcards. */
static void round_of_calls(mp_engine *engine) {
    static mp_message batch[ENTRIES];
    static mp_outcome outcomes[ENTRIES];
    static uint64_t receives[ENTRIES];
    const uint64_t any = mp_pair(0, MP_ANY_SOURCE);
    uint64_t at;
    size_t done;

    for (at = 0; at < ENTRIES; at++) {
        uint64_t pair = at % 7 == 0 ? any : mp_pair(0, at % 5);
        must(mp_post(engine, at, pair, at, at % 11 == 0 ? MP_ANY_TAG : 0).status, MP_QUEUED);
        batch[at].id = batch[at].tag = at;
        batch[at].pair = mp_pair(0, at % 5);
    }
    must(mp_cancel(engine, 0, any, 0, MP_ANY_TAG), MP_FOUND);
    must(mp_arrive_batch(engine, batch, ENTRIES, outcomes, &done, NULL, NULL), MP_OK);
    while (mp_posted_len(engine) > 0) must(mp_arrive(engine, ENTRIES + at++, batch[0].pair, 0).status < 0, 0);
    must(mp_probe(engine, any, 0, MP_ANY_TAG).status, MP_FOUND);
    must(mp_matched_probe(engine, any, 0, MP_ANY_TAG).status, MP_FOUND);
    while (mp_unexpected_len(engine) > 0) must(mp_post(engine, 0, any, 0, MP_ANY_TAG).status, MP_MATCHED);
    for (at = 0; at < ENTRIES; at++) must(mp_post_exact(engine, at, batch[at].pair, at).status, MP_QUEUED);
    must(mp_arrive_batch(engine, batch, ENTRIES, outcomes, &done, delivered, receives), MP_OK);
    for (at = 0; at < ENTRIES; at++) must(receives[at] == at, 1);
    for (at = 0; at < ENTRIES; at++) must(mp_arrive(engine, at, batch[at].pair, at).status, MP_QUEUED);
    for (at = ENTRIES; at-- > 0;) must(mp_post_exact(engine, at, batch[at].pair, at).status, MP_MATCHED);
}

int main(int count, char **arguments) {
    mp_engine *engine;
    unsigned long before, warming;
    int round;

    before = allocations;
    must(mp_create(count > 1 ? arguments[1] : "list", 0, &engine, NULL, 0), MP_OK);
    for (round = 0; round < WARMING; round++) round_of_calls(engine);
    warming = allocations - before;
    before = allocations;
    for (round = 0; round < WARM; round++) round_of_calls(engine);
    before = allocations - before;
    printf("%lu %lu\n", warming, before);
    must(mp_destroy(engine), MP_OK);
    return 0;
}
