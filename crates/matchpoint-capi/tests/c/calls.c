/* Calls every function of an engine with valid and invalid arguments. Usage: calls NAME, or calls NAME any for an
 * engine with MP_ANY_THREAD. */
#include <string.h>

#include "check.h"

static uint32_t flags;

static void library(void) {
    mp_engine_info info;
    mp_parameter_info parameter;
    size_t engine, at;

    CHECK(mp_abi_version() == MP_ABI_VERSION);
    CHECK(strlen(mp_version()) > 0);
    CHECK(strcmp(mp_status_text(MP_BUSY), mp_status_text(MP_INVALID)) != 0);
    CHECK(strlen(mp_status_text(-1000)) > 0);
    CHECK(mp_engine_count() > 0);
    for (engine = 0; engine < mp_engine_count(); engine++) {
        CHECK(mp_engine_describe(engine, &info, sizeof info) == MP_OK);
        CHECK(strlen(info.name) > 0 && strlen(info.summary) > 0);
        for (at = 0; at < info.parameters; at++) {
            CHECK(mp_engine_describe_parameter(engine, at, &parameter, sizeof parameter) == MP_OK);
            CHECK(strlen(parameter.key) > 0 && strlen(parameter.meaning) > 0 && parameter.default_value);
        }
        CHECK(mp_engine_describe_parameter(engine, info.parameters, &parameter, sizeof parameter) == MP_INVALID);
    }
    CHECK(mp_engine_describe(engine, &info, sizeof info) == MP_INVALID);
    CHECK(mp_engine_describe(0, NULL, sizeof info) == MP_INVALID);
}

/* Returns the memory of a new engine in bytes. The number identifies the engine. */
static uint64_t bytes(const char *name) {
    mp_engine *engine;
    mp_footprint footprint;

    CHECK(mp_create(name, flags, &engine, NULL, 0) == MP_OK);
    CHECK(mp_footprint_of(engine, &footprint, sizeof footprint) == MP_OK && mp_destroy(engine) == MP_OK);
    return footprint.peak_bytes;
}

static void names(const char *name) {
    mp_engine *engine = NULL;
    char error[16];

    CHECK(bytes(NULL) == bytes(flags ? "locked:engine=hybrid" : "hybrid") && bytes("") == bytes(NULL));
    CHECK(bytes(NULL) != bytes(flags ? "locked:engine=list" : "list"));
    CHECK(mp_create(name, flags, NULL, error, sizeof error) == MP_INVALID);
    engine = (mp_engine *)error;
    CHECK(mp_create(name, 4, &engine, error, sizeof error) == MP_INVALID && engine == NULL);
    CHECK(mp_create(name, MP_COUNT | MP_ANY_THREAD, &engine, error, sizeof error) == MP_INVALID);
    memset(error, 'x', sizeof error);
    engine = (mp_engine *)error;
    CHECK(mp_create("lost", flags, &engine, error, 9) == MP_UNKNOWN_NAME && engine == NULL);
    CHECK(strcmp(error, "there is") == 0 && error[9] == 'x');
    CHECK(mp_create("\xff", flags, &engine, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(mp_create("bins:n=none", flags, &engine, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(mp_create("lost", flags, &engine, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_create("lost", flags, &engine, error, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_create(name, flags ? 0 : MP_ANY_THREAD, &engine, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(mp_destroy(NULL) == MP_OK);
}

static int lengths_are(mp_engine *engine, int64_t posted, int64_t unexpected) {
    return mp_posted_len(engine) == posted && mp_unexpected_len(engine) == unexpected
        && engine->calls->length(engine, MP_QUEUE_POSTED) == posted
        && engine->calls->length(engine, MP_QUEUE_UNEXPECTED) == unexpected;
}

static void invalid_arguments_change_nothing(mp_engine *engine) {
    mp_message batch[2];
    mp_outcome outcomes[2];
    mp_footprint footprint;
    size_t done = 77;

    memset(batch, 0, sizeof batch);
    CHECK(mp_arrive_batch(engine, NULL, 2, outcomes, &done, NULL, NULL) == MP_INVALID);
    CHECK(mp_arrive_batch(engine, batch, 1, NULL, &done, NULL, NULL) == MP_INVALID);
    CHECK(mp_arrive_batch(engine, batch, 1, outcomes, NULL, NULL, NULL) == MP_INVALID);
    CHECK(done == 77);
    CHECK(mp_set_hints(engine, 0, 64) == MP_INVALID);
    CHECK(mp_hints(engine, NULL, NULL) == MP_INVALID && mp_statistics(engine, NULL, NULL) == MP_INVALID);
    CHECK(mp_visit(engine, 2, NULL, NULL) == MP_INVALID && mp_visit(engine, MP_QUEUE_POSTED, NULL, NULL) == MP_INVALID);
    CHECK(mp_fail_source(engine, 0, MP_UNKNOWN_SOURCE, NULL, NULL) == MP_INVALID);
    CHECK(engine->calls->length(engine, 2) == MP_INVALID);
    CHECK(mp_footprint_of(engine, NULL, sizeof footprint) == MP_INVALID);
    CHECK(mp_attempts_of(engine, NULL, sizeof(mp_attempts)) == MP_INVALID);
    CHECK(mp_poll(engine, NULL, 0) == MP_INVALID && mp_fell_back(engine) == MP_INVALID);
    CHECK(lengths_are(engine, 0, 0));
    CHECK(mp_arrive_batch(engine, NULL, 0, NULL, &done, NULL, NULL) == MP_OK && done == 0);
}

static void matching(mp_engine *engine) {
    const uint64_t pair = mp_pair(0, 3);

    CHECK(mp_pair(7, 9) == 7 * 0x100000000 + 9 && mp_context(mp_pair(7, 9)) == 7 && mp_source(mp_pair(7, 9)) == 9);
    CHECK(is_none(mp_probe(engine, ANY, 0, MP_ANY_TAG)) && is_none(mp_matched_probe(engine, pair, 7, 0)));
    CHECK(is(mp_post_exact(engine, 1, pair, 7), MP_QUEUED, 0) && lengths_are(engine, 1, 0));
    CHECK(is(mp_arrive(engine, 2, pair, 7), MP_MATCHED, 1) && lengths_are(engine, 0, 0));
    CHECK(is(mp_post(engine, 5, ANY, 0x10, 0xf), MP_QUEUED, 0) && is(mp_post(engine, 6, ANY, 9, 0), MP_QUEUED, 0));
    CHECK(is(mp_arrive(engine, 7, pair, 0x1f), MP_MATCHED, 5) && is(mp_arrive(engine, 8, pair, 9), MP_MATCHED, 6));
    CHECK(is(mp_arrive(engine, 9, pair, 1), MP_QUEUED, 0) && is(mp_arrive(engine, 10, pair, 2), MP_QUEUED, 0));
    CHECK(is(mp_probe(engine, ANY, 0, MP_ANY_TAG), MP_FOUND, 9) && lengths_are(engine, 0, 2));
    CHECK(is(mp_matched_probe(engine, pair, 2, 0), MP_FOUND, 10) && lengths_are(engine, 0, 1));
    CHECK(is(mp_post(engine, 11, mp_pair(1, 3), 0, MP_ANY_TAG), MP_QUEUED, 0));
    CHECK(is(mp_post_exact(engine, 12, pair, 1), MP_MATCHED, 9) && lengths_are(engine, 1, 0));
    CHECK(mp_set_hints(engine, 0, MP_HINT_NO_ANY_TAG | MP_HINT_NO_UNEXPECTED) == MP_OK);
    CHECK(is(mp_post(engine, 13, pair, 0, 1), MP_REFUSED_HINT, 0));
    CHECK(is(mp_arrive(engine, 14, pair, 1), MP_REFUSED_HINT, 0));
    CHECK(mp_close(engine, 0, NULL, NULL) == MP_OK && lengths_are(engine, 1, 0));
    CHECK(mp_close(engine, 1, NULL, NULL) == MP_OK && lengths_are(engine, 0, 0));
}

static void searching_first(mp_engine *engine, const char *name) {
    const int32_t reserved = strcmp(name, "hybrid") == 0 || strcmp(name, "list") == 0 ? MP_OK : MP_REFUSED_MEMORY;
    const uint64_t pair = mp_pair(2, 3);
    mp_outcome found;

    if (flags) {
        CHECK(is(mp_take_receive(engine, pair, 7), MP_INVALID, 0));
        CHECK(is(mp_queue_message(engine, 1, pair, 7, 0), MP_INVALID, 0));
        CHECK(is(mp_queue_receive(engine, 1, pair, 7, 0, 0), MP_INVALID, 0));
        CHECK(mp_reserve(engine, 1) == MP_INVALID);
        return;
    }
    CHECK(mp_reserve(engine, 100) == reserved);
    CHECK(mp_reserve(engine, SIZE_MAX) == MP_REFUSED_MEMORY && mp_reserve(engine, 0) == MP_OK);
    found = mp_take_receive(engine, pair, 7);
    CHECK(is_none(found) && lengths_are(engine, 0, 0));
    CHECK(is(mp_queue_message(engine, 1, pair, 7, found.id), MP_QUEUED, 0) && lengths_are(engine, 0, 1));
    CHECK(is(mp_matched_probe(engine, pair, 7, 0), MP_FOUND, 1) && lengths_are(engine, 0, 0));
    found = mp_matched_probe(engine, pair, 7, 0);
    CHECK(is_none(found) && is(mp_queue_receive(engine, 2, pair, 7, 0, found.id), MP_QUEUED, 0));
    CHECK(is_none(mp_take_receive(engine, pair, 8)) && is(mp_take_receive(engine, pair, 7), MP_FOUND, 2));
    CHECK(lengths_are(engine, 0, 0));
    /* Calls without a place, and with wildcards. */
    CHECK(is(mp_queue_receive(engine, 3, mp_pair(2, MP_ANY_SOURCE), 0, MP_ANY_TAG, 0), MP_QUEUED, 0));
    CHECK(is(mp_queue_receive(engine, 4, pair, 7, 0, 0), MP_QUEUED, 0) && lengths_are(engine, 2, 0));
    CHECK(is(mp_take_receive(engine, pair, 7), MP_FOUND, 3) && is(mp_take_receive(engine, pair, 7), MP_FOUND, 4));
    CHECK(is(mp_queue_message(engine, 5, pair, 7, 0), MP_QUEUED, 0) && is(mp_queue_message(engine, 6, pair, 7, 0), MP_QUEUED, 0));
    CHECK(is(mp_arrive(engine, 7, pair, 7), MP_QUEUED, 0) && lengths_are(engine, 0, 3));
    /* The other queue changes between the search and the queue call. */
    CHECK(is_none(mp_take_receive(engine, pair, 8)) && is(mp_post(engine, 10, pair, 8, 1), MP_QUEUED, 0));
    CHECK(is(mp_queue_message(engine, 11, pair, 8, 0), MP_MATCHED, 10) && lengths_are(engine, 0, 3));
    CHECK(is_none(mp_matched_probe(engine, pair, 8, 1)) && is(mp_arrive(engine, 12, pair, 9), MP_QUEUED, 0));
    CHECK(is(mp_queue_receive(engine, 13, pair, 8, 1, 0), MP_MATCHED, 12) && lengths_are(engine, 0, 3));
    CHECK(mp_set_hints(engine, 2, MP_HINT_NO_ANY_TAG) == MP_OK);
    CHECK(is_none(mp_matched_probe(engine, pair, 0, MP_ANY_TAG)));
    CHECK(is(mp_queue_receive(engine, 8, pair, 0, MP_ANY_TAG, 0), MP_REFUSED_HINT, 0) && lengths_are(engine, 0, 3));
    CHECK(is(mp_post_exact(engine, 8, pair, 7), MP_MATCHED, 5) && mp_close(engine, 2, NULL, NULL) == MP_OK);
    CHECK(mp_set_hints(engine, 2, MP_HINT_NO_UNEXPECTED) == MP_OK);
    CHECK(is_none(mp_take_receive(engine, pair, 7)) && is(mp_queue_message(engine, 9, pair, 7, 0), MP_REFUSED_HINT, 0));
    CHECK(mp_close(engine, 2, NULL, NULL) == MP_OK && lengths_are(engine, 0, 0));
}

/* Results of a batch. Each message has separate elements, because several threads may write. */
enum { DELIVERIES = 100 };

struct deliveries {
    mp_engine *engine;
    uint64_t receive[DELIVERIES];
    int times[DELIVERIES];
    int busy[DELIVERIES];
};

static void delivered(void *user, size_t number, uint64_t receive) {
    struct deliveries *deliveries = user;
    deliveries->times[number]++;
    deliveries->receive[number] = receive;
    deliveries->busy[number] = mp_cancel(deliveries->engine, receive, ANY, 0, 0) == MP_BUSY
        && is(mp_arrive(deliveries->engine, 1, 1, 1), MP_BUSY, 0) && mp_destroy(deliveries->engine) == MP_BUSY;
}

static void batch_ends_at_refused_message(mp_engine *engine) {
    mp_message batch[3];
    mp_outcome outcomes[3];
    size_t done = 77;

    memset(batch, 0, sizeof batch);
    memset(outcomes, 0xff, sizeof outcomes);
    CHECK(mp_set_hints(engine, 0, MP_HINT_NO_UNEXPECTED) == MP_OK);
    CHECK(is(mp_post_exact(engine, 5, mp_pair(0, 1), 1), MP_QUEUED, 0));
    batch[0].id = 1;
    batch[0].pair = mp_pair(0, 1);
    batch[0].tag = 1;
    batch[1].id = 2;
    batch[2].id = 3;
    CHECK(mp_arrive_batch(engine, batch, 3, outcomes, &done, NULL, NULL) == MP_REFUSED_HINT && done == 1);
    CHECK(is(outcomes[0], MP_MATCHED, 5) && outcomes[1].status == -1 && lengths_are(engine, 0, 0));
    CHECK(mp_set_hints(engine, 0, 0) == MP_OK);
    CHECK(mp_arrive_batch(engine, batch + 1, 2, outcomes, &done, NULL, NULL) == MP_OK && done == 2);
    CHECK(is(outcomes[1], MP_QUEUED, 0) && lengths_are(engine, 0, 2));
    CHECK(mp_close(engine, 0, NULL, NULL) == MP_OK);
}

static void matched_messages_are_delivered(mp_engine *engine) {
    struct deliveries deliveries;
    mp_message batch[DELIVERIES];
    mp_outcome outcomes[DELIVERIES];
    uint64_t at;
    size_t done;

    memset(&deliveries, 0, sizeof deliveries);
    deliveries.engine = engine;
    CHECK(mp_set_hints(engine, 0, MP_HINT_NO_UNEXPECTED) == MP_OK);
    for (at = 0; at < DELIVERIES; at++) {
        batch[at].id = batch[at].tag = at;
        batch[at].pair = mp_pair(0, at % 3);
        if (at != DELIVERIES - 2) CHECK(is(mp_post_exact(engine, 500 + at, batch[at].pair, at), MP_QUEUED, 0));
    }
    CHECK(mp_arrive_batch(engine, batch, DELIVERIES, outcomes, &done, delivered, &deliveries) == MP_REFUSED_HINT);
    CHECK(done == DELIVERIES - 2 && lengths_are(engine, 1, 0));
    for (at = 0; at < DELIVERIES; at++) {
        CHECK(deliveries.times[at] == (at < done) && deliveries.busy[at] == (at < done));
        if (at < done) CHECK(deliveries.receive[at] == 500 + at && outcomes[at].id == 500 + at);
    }
    CHECK(mp_set_hints(engine, 0, 0) == MP_OK);
    CHECK(mp_arrive_batch(engine, batch + done, 2, outcomes, &done, delivered, &deliveries) == MP_OK);
    CHECK(done == 2 && deliveries.times[0] == 1 && deliveries.times[1] == 2);
    CHECK(deliveries.receive[1] == 499 + DELIVERIES && lengths_are(engine, 0, 1));
    CHECK(is(outcomes[0], MP_QUEUED, 0) && is(outcomes[1], MP_MATCHED, 499 + DELIVERIES));
    CHECK(mp_arrive_batch(engine, NULL, 0, NULL, &done, delivered, &deliveries) == MP_OK && done == 0);
    CHECK(mp_close(engine, 0, NULL, NULL) == MP_OK);
}

static void cancel_retract_and_readdress(mp_engine *engine) {
    const uint64_t unknown_source = mp_pair(0, MP_UNKNOWN_SOURCE), known_source = mp_pair(0, 9);

    CHECK(is(mp_arrive(engine, 1, unknown_source, 4), MP_QUEUED, 0) && is_none(mp_probe(engine, known_source, 4, 0)));
    CHECK(is(mp_readdress(engine, 1, unknown_source, 4, 9), MP_NAMED, 0));
    CHECK(is(mp_readdress(engine, 1, unknown_source, 4, 9), MP_NONE, 0));
    CHECK(is(mp_readdress(engine, 1, known_source, 4, 9), MP_NONE, 0));
    CHECK(is(mp_probe(engine, known_source, 4, 0), MP_FOUND, 1) && lengths_are(engine, 0, 1));
    CHECK(mp_retract(engine, 1, known_source, 4) == MP_FOUND && mp_retract(engine, 1, known_source, 4) == MP_NONE);
    CHECK(lengths_are(engine, 0, 0));
    CHECK(is(mp_arrive(engine, 1, unknown_source, 4), MP_QUEUED, 0) && is(mp_post_exact(engine, 7, known_source, 4), MP_QUEUED, 0));
    CHECK(is(mp_readdress(engine, 1, unknown_source, 4, 9), MP_MATCHED, 7) && lengths_are(engine, 0, 0));
    CHECK(mp_cancel(engine, 7, known_source, 4, 0) == MP_NONE && mp_retract(engine, 1, unknown_source, 4) == MP_NONE);
    CHECK(is(mp_post_exact(engine, 2, known_source, 4), MP_QUEUED, 0));
    CHECK(mp_set_hints(engine, 0, MP_HINT_NO_ANY_SOURCE) == MP_OK);
    CHECK(is(mp_post(engine, 3, ANY, 0, MP_ANY_TAG), MP_REFUSED_HINT, 0) && lengths_are(engine, 1, 0));
    CHECK(mp_cancel(engine, 2, known_source, 4, 0) == MP_FOUND && mp_cancel(engine, 2, known_source, 4, 0) == MP_NONE);
    CHECK(mp_set_hints(engine, 0, 0) == MP_OK && lengths_are(engine, 0, 0));
}

struct seen {
    mp_engine *engine;
    char text[256];
    int busy;
};

static void append_id(struct seen *seen, char kind, uint64_t id) {
    size_t length = strlen(seen->text);
    snprintf(seen->text + length, sizeof seen->text - length, "%c%u ", kind, (unsigned)id);
    seen->busy = mp_cancel(seen->engine, 1, ANY, 0, 0) == MP_BUSY && mp_destroy(seen->engine) == MP_BUSY
        && seen->engine->calls->length(seen->engine, MP_QUEUE_POSTED) == MP_BUSY;
}

static void drained(void *user, int32_t kind, uint64_t id) { append_id(user, "rmp"[kind], id); }

static void visited(void *user, const mp_entry *entry) {
    append_id(user, entry->queue == MP_QUEUE_POSTED ? 'r' : 'm', entry->id);
    if (entry->id == 1) CHECK(entry->pair == ANY && entry->ignore == MP_ANY_TAG);
    if (entry->id == 4) CHECK(entry->pair == mp_pair(1, 8) && entry->tag == 3 && entry->ignore == 0);
}

static void statistic(void *user, const char *name, double value) {
    (void)value;
    CHECK(strlen(name) > 0);
    ++*(int *)user;
}

static void hinted(void *user, uint32_t context, uint32_t hints) {
    append_id(user, 'c', context);
    append_id(user, 'h', hints);
}

static void hints_are_listed(mp_engine *engine) {
    const uint32_t both = MP_HINT_NO_ANY_SOURCE | MP_HINT_NO_ANY_TAG;
    const uint64_t any = mp_pair(4, MP_ANY_SOURCE);
    struct seen seen;

    memset(&seen, 0, sizeof seen);
    seen.engine = engine;
    CHECK(mp_hints(engine, hinted, &seen) == MP_OK && seen.text[0] == '\0');
    CHECK(mp_set_hints(engine, 9, both) == MP_OK);
    CHECK(mp_set_hints(engine, 3, MP_HINT_EXACT_LENGTH) == MP_OK);
    CHECK(mp_set_hints(engine, 5, MP_HINT_ALLOW_OVERTAKING) == MP_OK);
    CHECK(mp_set_hints(engine, 5, 0) == MP_OK);
    /* Refused hints are not listed. */
    CHECK(is(mp_post(engine, 1, any, 0, MP_ANY_TAG), MP_QUEUED, 0));
    CHECK(mp_set_hints(engine, 4, MP_HINT_NO_ANY_TAG) == MP_REFUSED_HINT);
    CHECK(mp_cancel(engine, 1, any, 0, MP_ANY_TAG) == MP_FOUND);
    CHECK(mp_hints(engine, hinted, &seen) == MP_OK && seen.busy);
    CHECK(strcmp(seen.text, "c3 h4 c9 h3 ") == 0);
    CHECK(mp_close(engine, 9, NULL, NULL) == MP_OK && mp_close(engine, 3, NULL, NULL) == MP_OK);
    seen.text[0] = '\0';
    CHECK(mp_hints(engine, hinted, &seen) == MP_OK && seen.text[0] == '\0');
}

static void callbacks(mp_engine *engine) {
    struct seen seen;

    memset(&seen, 0, sizeof seen);
    seen.engine = engine;
    CHECK(is(mp_post(engine, 1, ANY, 0, MP_ANY_TAG), MP_QUEUED, 0));
    CHECK(is(mp_post_exact(engine, 2, mp_pair(0, 5), 1), MP_QUEUED, 0));
    CHECK(is(mp_post(engine, 3, ANY, 0, MP_ANY_TAG), MP_QUEUED, 0));
    CHECK(is(mp_arrive(engine, 4, mp_pair(1, 8), 3), MP_QUEUED, 0));
    CHECK(mp_visit(engine, MP_QUEUE_POSTED, visited, &seen) == MP_OK && seen.busy);
    CHECK(mp_visit(engine, MP_QUEUE_UNEXPECTED, visited, &seen) == MP_OK && seen.busy);
    CHECK(strcmp(seen.text, "r1 r2 r3 m4 ") == 0);
    seen.text[0] = '\0';
    CHECK(mp_fail_source(engine, 0, 5, drained, &seen) == MP_OK && seen.busy);
    CHECK(strcmp(seen.text, "r2 p1 p3 ") == 0 && lengths_are(engine, 2, 1));
    seen.text[0] = '\0';
    CHECK(mp_close(engine, 0, drained, &seen) == MP_OK && mp_close(engine, 1, drained, &seen) == MP_OK);
    CHECK(strcmp(seen.text, "r1 r3 m4 ") == 0 && lengths_are(engine, 0, 0));
}

static void figures(const char *name) {
    mp_engine *engine;
    struct {
        mp_footprint known;
        uint64_t beyond;
    } newer;
    mp_attempts attempts;
    int statistics = 0;

    CHECK(mp_create(name, MP_COUNT, &engine, NULL, 0) == MP_OK);
    CHECK(is(mp_post_exact(engine, 1, 1, 1), MP_QUEUED, 0) && is(mp_arrive(engine, 1, 1, 1), MP_MATCHED, 1));
    CHECK(mp_attempts_of(engine, &attempts, sizeof attempts) == MP_OK && attempts.posted > 0);
    newer.beyond = 77;
    CHECK(mp_footprint_of(engine, &newer.known, sizeof newer) == MP_OK);
    CHECK(newer.known.fixed_bytes > 0 && newer.known.peak_bytes >= newer.known.fixed_bytes && newer.beyond == 0);
    newer.known.peak_bytes = 77;
    CHECK(mp_footprint_of(engine, &newer.known, 8) == MP_OK && newer.known.peak_bytes == 77);
    CHECK(mp_order(engine) == MP_ORDER_TOTAL);
    CHECK(mp_statistics(engine, statistic, &statistics) == MP_OK && mp_destroy(engine) == MP_OK);
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "list";
    mp_engine *engine;

    flags = count > 2 ? MP_ANY_THREAD : 0;
    library();
    names(name);
    CHECK(mp_create(name, flags, &engine, NULL, 0) == MP_OK);
    invalid_arguments_change_nothing(engine);
    matching(engine);
    searching_first(engine, name);
    batch_ends_at_refused_message(engine);
    matched_messages_are_delivered(engine);
    cancel_retract_and_readdress(engine);
    callbacks(engine);
    if (!flags) {
        hints_are_listed(engine);
        figures(name);
    }
    CHECK(mp_destroy(engine) == MP_OK);
    return EXIT_SUCCESS;
}
