/* Counts allocations: of the first rounds of calls on an engine, and of many more once it is warm. Prints both. */
#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

/* glibc's own, which the functions below stand before. */
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

static void must(int32_t status, int32_t wanted) {
    if (status != wanted) abort();
}

static void delivered(void *user, size_t number, uint64_t receive) { ((uint64_t *)user)[number] = receive; }

/* Posted and then matched, queued and then posted for, probed, cancelled, in batches; wildcards among them. */
static void round_of_calls(mp_engine *engine) {
    static mp_message batch[ENTRIES];
    static mp_outcome outcomes[ENTRIES];
    static uint64_t receives[ENTRIES];
    mp_selector any = {0, MP_ANY_TAG, 0, MP_ANY_SOURCE};
    uint64_t found, at;
    size_t done;

    for (at = 0; at < ENTRIES; at++) {
        mp_selector selector = {0, 0, 0, 0};
        selector.source = at % 7 == 0 ? MP_ANY_SOURCE : at % 5;
        selector.tag = at;
        selector.ignore = at % 11 == 0 ? MP_ANY_TAG : 0;
        must(mp_engine_post(engine, at, &selector, &found), MP_QUEUED);
        batch[at].id = at;
        batch[at].envelope.source = at % 5;
        batch[at].envelope.tag = at;
    }
    must(mp_engine_cancel(engine, 0, &any), MP_FOUND);
    must(mp_engine_arrive_batch(engine, batch, ENTRIES, outcomes, &done), MP_OK);
    while (mp_engine_posted_len(engine) > 0) must(mp_engine_arrive(engine, ENTRIES + at++, &batch[0].envelope, &found) < 0, 0);
    must(mp_engine_probe(engine, &any, &found), MP_FOUND);
    must(mp_engine_matched_probe(engine, &any, &found), MP_FOUND);
    while (mp_engine_unexpected_len(engine) > 0) must(mp_engine_post(engine, 0, &any, &found), MP_MATCHED);
    for (at = 0; at < ENTRIES; at++) {
        mp_selector selector = {0, 0, 0, 0};
        selector.source = at % 5;
        selector.tag = at;
        must(mp_engine_post(engine, at, &selector, &found), MP_QUEUED);
    }
    must(mp_engine_deliver_batch(engine, batch, ENTRIES, outcomes, &done, delivered, receives), MP_OK);
    for (at = 0; at < ENTRIES; at++) must(receives[at] == at, 1);
    for (at = 0; at < ENTRIES; at++) must(mp_engine_arrive(engine, at, &batch[at].envelope, &found), MP_QUEUED);
    for (at = ENTRIES; at-- > 0;) {
        mp_selector selector = {0, 0, 0, 0};
        selector.source = at % 5;
        selector.tag = at;
        must(mp_engine_post(engine, at, &selector, &found), MP_MATCHED);
    }
}

/* What the library tells of itself is there without memory. */
static void describe(void) {
    mp_engine_info info;
    mp_parameter_info parameter;
    size_t engine, at;

    for (engine = 0; mp_engine_describe(engine, &info, sizeof info) == MP_OK; engine++)
        for (at = 0; at < info.parameters; at++)
            must(mp_engine_describe_parameter(engine, at, &parameter, sizeof parameter), MP_OK);
}

int main(int count, char **arguments) {
    mp_engine *engine;
    unsigned long before, warming;
    int round;

    before = allocations;
    describe();
    if (allocations != before) abort();
    must(mp_engine_create(count > 1 ? arguments[1] : "list", &engine, NULL, 0), MP_OK);
    for (round = 0; round < WARMING; round++) round_of_calls(engine);
    warming = allocations - before;
    before = allocations;
    for (round = 0; round < WARM; round++) round_of_calls(engine);
    before = allocations - before;
    printf("%lu %lu\n", warming, before);
    must(mp_engine_destroy(engine), MP_OK);
    return 0;
}
