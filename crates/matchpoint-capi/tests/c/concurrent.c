/* Concurrent matched probes of several threads: each message goes to one thread. */
#include <pthread.h>

#include "check.h"

enum { PROBERS = 3, PROBED = 3000 };

static int got[PROBED];
static int gotten[PROBERS];
static mp_engine *engine;

static void *probes(void *user) {
    int number = (int)(intptr_t)user;
    mp_outcome found;

    while ((found = mp_matched_probe(engine, ANY, 0, MP_ANY_TAG)).status == MP_FOUND) {
        got[found.id]++;
        gotten[number]++;
    }
    CHECK(found.status == MP_NONE);
    return NULL;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "locked:engine=list";
    pthread_t threads[PROBERS];
    uint64_t at;
    int sum = 0;

    CHECK(mp_create(name, MP_ANY_THREAD, &engine, NULL, 0) == MP_OK);
    for (at = 0; at < PROBED; at++) CHECK(is(mp_arrive(engine, at, mp_pair(0, 1), 1), MP_QUEUED, 0));
    for (at = 0; at < PROBERS; at++) CHECK(pthread_create(&threads[at], NULL, probes, (void *)(intptr_t)at) == 0);
    for (at = 0; at < PROBERS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    for (at = 0; at < PROBED; at++) CHECK(got[at] == 1);
    for (at = 0; at < PROBERS; at++) sum += gotten[at];
    CHECK(sum == PROBED && mp_unexpected_len(engine) == 0);
    CHECK(mp_destroy(engine) == MP_OK);
    return EXIT_SUCCESS;
}
