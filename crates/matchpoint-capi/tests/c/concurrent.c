/* Every function of engines that several threads may call, with good arguments and with bad ones, on the one that is named; then
 * matched probes of several threads at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

#include "check.h"

/* What callbacks were told, and what the engine answered them. */
enum { TOLD = 64 };

struct told {
    mp_concurrent *engine;
    uint64_t ids[TOLD];
    int kinds[TOLD];
    int busy[TOLD];
    size_t count;
};

static void delivered(void *user, size_t number, uint64_t receive) {
    struct told *told = user;
    told->ids[number] = receive;
    told->kinds[number]++;
    told->busy[number] = mp_concurrent_cancel(told->engine, receive, &ANY) == MP_BUSY &&
                         mp_concurrent_posted_len(told->engine) == MP_BUSY &&
                         mp_concurrent_destroy(told->engine) == MP_BUSY;
}

static const mp_envelope ZERO;

static void drained(void *user, int32_t kind, uint64_t id) {
    struct told *told = user;
    told->ids[told->count] = id;
    told->kinds[told->count] = kind;
    told->busy[told->count++] = mp_concurrent_retract(told->engine, id, &ZERO) == MP_BUSY;
}

static void seen(void *user, const mp_entry *entry) {
    struct told *told = user;
    told->ids[told->count] = entry->id;
    told->kinds[told->count] = entry->queue;
    told->busy[told->count++] = mp_concurrent_retract(told->engine, entry->id, &ZERO) == MP_BUSY;
}

static void null_is_refused(void) {
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    mp_footprint footprint;
    mp_outcome outcome;
    mp_message message;
    uint64_t found;
    size_t done;

    memset(&message, 0, sizeof message);
    CHECK(mp_concurrent_destroy(NULL) == MP_OK);
    CHECK(mp_concurrent_post(NULL, 1, &selector, &found) == MP_INVALID);
    CHECK(mp_concurrent_arrive(NULL, 1, &envelope, &found) == MP_INVALID);
    CHECK(mp_concurrent_arrive_batch(NULL, &message, 1, &outcome, &done) == MP_INVALID);
    CHECK(mp_concurrent_deliver_batch(NULL, &message, 1, &outcome, &done, delivered, NULL) == MP_INVALID);
    CHECK(mp_concurrent_probe(NULL, &selector, &found) == MP_INVALID);
    CHECK(mp_concurrent_matched_probe(NULL, &selector, &found) == MP_INVALID);
    CHECK(mp_concurrent_cancel(NULL, 1, &selector) == MP_INVALID);
    CHECK(mp_concurrent_retract(NULL, 1, &envelope) == MP_INVALID);
    CHECK(mp_concurrent_readdress(NULL, 1, &envelope, 1, &found) == MP_INVALID);
    CHECK(mp_concurrent_set_hints(NULL, 0, 0) == MP_INVALID);
    CHECK(mp_concurrent_close(NULL, 0, NULL, NULL) == MP_INVALID);
    CHECK(mp_concurrent_fail_source(NULL, 0, 1, NULL, NULL) == MP_INVALID);
    CHECK(mp_concurrent_visit(NULL, MP_QUEUE_POSTED, seen, NULL) == MP_INVALID);
    CHECK(mp_concurrent_posted_len(NULL) == MP_INVALID && mp_concurrent_unexpected_len(NULL) == MP_INVALID);
    CHECK(mp_concurrent_footprint(NULL, &footprint, sizeof footprint) == MP_INVALID);
}

/* What a new engine of that name holds. */
static uint64_t bytes(const char *name) {
    mp_concurrent *engine;
    mp_footprint footprint;

    CHECK(mp_concurrent_create(name, &engine, NULL, 0) == MP_OK);
    CHECK(mp_concurrent_footprint(engine, &footprint, sizeof footprint) == MP_OK);
    CHECK(mp_concurrent_destroy(engine) == MP_OK);
    return footprint.peak_bytes;
}

static void names(const char *name) {
    mp_concurrent *engine = NULL;
    char error[16];

    CHECK(bytes(NULL) == bytes("locked:engine=hybrid") && bytes("") == bytes(NULL));
    CHECK(bytes(NULL) != bytes("locked:engine=list") && bytes(NULL) != bytes("split:engine=hybrid"));
    CHECK(bytes(NULL) != bytes("sharded:shards=1,engine=hybrid"));
    CHECK(mp_concurrent_create(name, NULL, error, sizeof error) == MP_INVALID);
    engine = (mp_concurrent *)error;
    /* An engine for one thread is none. */
    CHECK(mp_concurrent_create("list", &engine, error, 9) == MP_UNKNOWN_NAME && engine == NULL);
    CHECK(strcmp(error, "there is") == 0);
    CHECK(mp_concurrent_create("locked:engine=lost", &engine, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_concurrent_create("\xff", &engine, error, sizeof error) == MP_UNKNOWN_NAME);
}

static void bad_arguments_change_nothing(mp_concurrent *engine) {
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    mp_message batch[2];
    mp_outcome outcomes[2];
    uint64_t found = 77;
    size_t done = 77;

    CHECK(mp_concurrent_post(engine, 1, NULL, &found) == MP_INVALID);
    CHECK(mp_concurrent_post(engine, 1, &selector, NULL) == MP_INVALID);
    CHECK(mp_concurrent_probe(engine, &selector, NULL) == MP_INVALID);
    CHECK(mp_concurrent_matched_probe(engine, &selector, NULL) == MP_INVALID);
    CHECK(mp_concurrent_probe(engine, NULL, &found) == MP_INVALID);
    CHECK(mp_concurrent_matched_probe(engine, NULL, &found) == MP_INVALID);
    CHECK(mp_concurrent_arrive(engine, 1, NULL, &found) == MP_INVALID);
    CHECK(mp_concurrent_arrive(engine, 1, &envelope, NULL) == MP_INVALID);
    memset(batch, 0, sizeof batch);
    CHECK(mp_concurrent_arrive_batch(engine, NULL, 2, outcomes, &done) == MP_INVALID);
    CHECK(mp_concurrent_arrive_batch(engine, batch, 1, NULL, &done) == MP_INVALID);
    CHECK(mp_concurrent_arrive_batch(engine, batch, 1, outcomes, NULL) == MP_INVALID);
    CHECK(mp_concurrent_deliver_batch(engine, batch, 1, outcomes, &done, NULL, NULL) == MP_INVALID);
    CHECK(mp_concurrent_set_hints(engine, 0, 64) == MP_INVALID);
    CHECK(mp_concurrent_visit(engine, 2, seen, NULL) == MP_INVALID);
    CHECK(mp_concurrent_visit(engine, MP_QUEUE_POSTED, NULL, NULL) == MP_INVALID);
    CHECK(mp_concurrent_fail_source(engine, 0, MP_UNKNOWN_SOURCE, NULL, NULL) == MP_INVALID);
    CHECK(mp_concurrent_footprint(engine, NULL, 8) == MP_INVALID);
    CHECK(found == 77 && done == 77);
    CHECK(mp_concurrent_posted_len(engine) == 0 && mp_concurrent_unexpected_len(engine) == 0);
    CHECK(mp_concurrent_arrive_batch(engine, NULL, 0, NULL, &done) == MP_OK && done == 0);
}

static void one_after_the_other(mp_concurrent *engine) {
    mp_selector selector = asks(1, 1), any_tag = asks(1, 0), named = asks(3, 5);
    mp_envelope envelope = says(1, 1), other = says(2, 2), nobody = says(MP_UNKNOWN_SOURCE, 5), third = says(3, 5);
    mp_footprint footprint = {0, 0, 0, 0};
    uint64_t found = 0;

    any_tag.ignore = MP_ANY_TAG;
    CHECK(mp_concurrent_post(engine, 10, &selector, &found) == MP_QUEUED);
    CHECK(mp_concurrent_arrive(engine, 20, &envelope, &found) == MP_MATCHED && found == 10);
    CHECK(mp_concurrent_arrive(engine, 21, &envelope, &found) == MP_QUEUED);
    CHECK(mp_concurrent_probe(engine, &any_tag, &found) == MP_FOUND && found == 21);
    CHECK(mp_concurrent_post(engine, 11, &any_tag, &found) == MP_MATCHED && found == 21);
    CHECK(mp_concurrent_matched_probe(engine, &selector, &found) == MP_NONE);
    CHECK(mp_concurrent_arrive(engine, 22, &other, &found) == MP_QUEUED);
    CHECK(mp_concurrent_matched_probe(engine, &ANY, &found) == MP_FOUND && found == 22);
    CHECK(mp_concurrent_post(engine, 12, &selector, &found) == MP_QUEUED && mp_concurrent_posted_len(engine) == 1);
    CHECK(mp_concurrent_cancel(engine, 12, &selector) == MP_FOUND);
    CHECK(mp_concurrent_cancel(engine, 12, &selector) == MP_NONE);
    CHECK(mp_concurrent_arrive(engine, 23, &envelope, &found) == MP_QUEUED && mp_concurrent_unexpected_len(engine) == 1);
    CHECK(mp_concurrent_retract(engine, 23, &envelope) == MP_FOUND);
    CHECK(mp_concurrent_retract(engine, 23, &envelope) == MP_NONE);
    CHECK(mp_concurrent_arrive(engine, 24, &nobody, &found) == MP_QUEUED);
    CHECK(mp_concurrent_readdress(engine, 24, &nobody, 3, NULL) == MP_INVALID);
    CHECK(mp_concurrent_readdress(engine, 24, &nobody, 3, &found) == MP_NAMED);
    CHECK(mp_concurrent_readdress(engine, 24, &nobody, 3, &found) == MP_NONE);
    CHECK(mp_concurrent_set_hints(engine, 0, MP_HINT_NO_UNEXPECTED) == MP_REFUSED_HINT);
    CHECK(mp_concurrent_retract(engine, 24, &third) == MP_FOUND);
    CHECK(mp_concurrent_set_hints(engine, 0, MP_HINT_NO_ANY_SOURCE) == MP_OK);
    CHECK(mp_concurrent_post(engine, 13, &ANY, &found) == MP_REFUSED_HINT);
    CHECK(mp_concurrent_set_hints(engine, 0, 0) == MP_OK);
    CHECK(mp_concurrent_arrive(engine, 25, &nobody, &found) == MP_QUEUED);
    CHECK(mp_concurrent_post(engine, 14, &named, &found) == MP_QUEUED);
    CHECK(mp_concurrent_readdress(engine, 25, &nobody, 3, &found) == MP_MATCHED && found == 14);
    CHECK(mp_concurrent_posted_len(engine) == 0 && mp_concurrent_unexpected_len(engine) == 0);
    CHECK(mp_concurrent_footprint(engine, &footprint, sizeof footprint) == MP_OK);
    CHECK(footprint.fixed_bytes > 0 && footprint.peak_bytes >= footprint.fixed_bytes);
}

static void what_is_drained_is_told(mp_concurrent *engine) {
    mp_selector selector = asks(1, 1);
    mp_envelope other = says(2, 2);
    struct told told;
    uint64_t found;

    CHECK(mp_concurrent_post(engine, 30, &selector, &found) == MP_QUEUED);
    selector.source = MP_ANY_SOURCE;
    CHECK(mp_concurrent_post(engine, 31, &selector, &found) == MP_QUEUED);
    CHECK(mp_concurrent_arrive(engine, 40, &other, &found) == MP_QUEUED);

    memset(&told, 0, sizeof told);
    told.engine = engine;
    CHECK(mp_concurrent_visit(engine, MP_QUEUE_POSTED, seen, &told) == MP_OK);
    CHECK(mp_concurrent_visit(engine, MP_QUEUE_UNEXPECTED, seen, &told) == MP_OK);
    CHECK(told.count == 3 && told.ids[0] == 30 && told.ids[1] == 31 && told.ids[2] == 40);
    CHECK(told.kinds[1] == MP_QUEUE_POSTED && told.kinds[2] == MP_QUEUE_UNEXPECTED && told.busy[0] && told.busy[2]);

    told.count = 0;
    CHECK(mp_concurrent_fail_source(engine, 0, 1, drained, &told) == MP_OK);
    CHECK(told.count == 2 && told.ids[0] == 30 && told.kinds[0] == MP_DRAINED_RECEIVE);
    CHECK(told.ids[1] == 31 && told.kinds[1] == MP_DRAINED_PENDING && told.busy[0] && told.busy[1]);
    told.count = 0;
    CHECK(mp_concurrent_close(engine, 0, drained, &told) == MP_OK);
    CHECK(told.count == 2 && told.ids[0] == 31 && told.kinds[0] == MP_DRAINED_RECEIVE);
    CHECK(told.ids[1] == 40 && told.kinds[1] == MP_DRAINED_MESSAGE);
    CHECK(mp_concurrent_close(engine, 0, NULL, NULL) == MP_OK);
    CHECK(mp_concurrent_posted_len(engine) == 0 && mp_concurrent_unexpected_len(engine) == 0);
}

static void a_batch_stops_where_it_is_refused(mp_concurrent *engine) {
    struct told told;
    mp_message batch[TOLD];
    mp_outcome outcomes[TOLD];
    uint64_t found, at;
    size_t done = 77;

    memset(&told, 0, sizeof told);
    memset(batch, 0, sizeof batch);
    memset(outcomes, 0xff, sizeof outcomes);
    told.engine = engine;
    CHECK(mp_concurrent_set_hints(engine, 0, MP_HINT_NO_UNEXPECTED) == MP_OK);
    for (at = 0; at < TOLD; at++) {
        mp_selector selector = asks(at % 3, at);
        batch[at].id = at;
        batch[at].envelope = says(at % 3, at);
        if (at != TOLD - 2) CHECK(mp_concurrent_post(engine, 500 + at, &selector, &found) == MP_QUEUED);
    }
    CHECK(mp_concurrent_deliver_batch(engine, batch, TOLD, outcomes, &done, delivered, &told) == MP_REFUSED_HINT);
    CHECK(done == TOLD - 2);
    for (at = 0; at < TOLD; at++) {
        CHECK(told.kinds[at] == (at < done) && told.busy[at] == (at < done));
        if (at < done) CHECK(told.ids[at] == 500 + at && outcomes[at].id == 500 + at);
    }
    CHECK(outcomes[0].status == MP_MATCHED && outcomes[done].status == -1);
    CHECK(mp_concurrent_set_hints(engine, 0, 0) == MP_OK);
    CHECK(mp_concurrent_arrive_batch(engine, batch + done, 2, outcomes, &done) == MP_OK && done == 2);
    CHECK(outcomes[0].status == MP_QUEUED && outcomes[0].id == 0);
    CHECK(outcomes[1].status == MP_MATCHED && outcomes[1].id == 500 + TOLD - 1);
    CHECK(mp_concurrent_retract(engine, TOLD - 2, &batch[TOLD - 2].envelope) == MP_FOUND);
}

/* Each message is got by one of them. */
enum { PROBERS = 3, PROBED = 3000 };

static int got[PROBED];
static int gotten[PROBERS];

struct prober {
    mp_concurrent *engine;
    int number;
};

static void *probes(void *user) {
    const struct prober *own = user;
    uint64_t found;
    int32_t status;

    while ((status = mp_concurrent_matched_probe(own->engine, &ANY, &found)) == MP_FOUND) {
        got[found]++;
        gotten[own->number]++;
    }
    CHECK(status == MP_NONE);
    return NULL;
}

static void several_probe_at_once(mp_concurrent *engine) {
    struct prober probers[PROBERS];
    pthread_t threads[PROBERS];
    mp_envelope envelope = says(1, 1);
    uint64_t at, found;
    int sum = 0;

    for (at = 0; at < PROBED; at++) CHECK(mp_concurrent_arrive(engine, at, &envelope, &found) == MP_QUEUED);
    for (at = 0; at < PROBERS; at++) {
        probers[at].engine = engine;
        probers[at].number = (int)at;
        CHECK(pthread_create(&threads[at], NULL, probes, &probers[at]) == 0);
    }
    for (at = 0; at < PROBERS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    for (at = 0; at < PROBED; at++) CHECK(got[at] == 1);
    for (at = 0; at < PROBERS; at++) sum += gotten[at];
    CHECK(sum == PROBED && mp_concurrent_unexpected_len(engine) == 0);
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "locked:engine=list";
    mp_concurrent *engine;
    char error[256];

    null_is_refused();
    names(name);
    if (mp_concurrent_create(name, &engine, error, sizeof error) != MP_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    bad_arguments_change_nothing(engine);
    one_after_the_other(engine);
    what_is_drained_is_told(engine);
    a_batch_stops_where_it_is_refused(engine);
    several_probe_at_once(engine);
    CHECK(mp_concurrent_destroy(engine) == MP_OK);
    printf("%s: all as the header says\n", name);
    return EXIT_SUCCESS;
}
