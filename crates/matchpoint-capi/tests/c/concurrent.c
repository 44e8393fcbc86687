/* Tests that each message is returned to one thread if several threads call mp_matched_probe concurrently. */
#include <pthread.h>

#include "check.h"

enum { PROBERS = 3, PROBED = 3000 };

static int takes_of_message[PROBED];
static int takes_of_thread[PROBERS];
static mp_engine *engine;

static void *take_all(void *user) {
    int number = (int)(intptr_t)user;
    mp_outcome found;

    while ((found = mp_matched_probe(engine, ANY, 0, MP_ANY_TAG)).status == MP_FOUND) {
        takes_of_message[found.id]++;
        takes_of_thread[number]++;
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
    for (at = 0; at < PROBERS; at++) CHECK(pthread_create(&threads[at], NULL, take_all, (void *)(intptr_t)at) == 0);
    for (at = 0; at < PROBERS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    for (at = 0; at < PROBED; at++) CHECK(takes_of_message[at] == 1);
    for (at = 0; at < PROBERS; at++) sum += takes_of_thread[at];
    CHECK(sum == PROBED && mp_unexpected_len(engine) == 0);
    CHECK(mp_destroy(engine) == MP_OK);
    return EXIT_SUCCESS;
}
