/* Every function of the interface, with good arguments and with bad ones, on the engine that is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

#include "check.h"

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

/* What becomes of a batch: each message has places of its own, so that several threads may tell at once. */
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
    deliveries->busy[number] = mp_engine_cancel(deliveries->engine, receive, &ANY) == MP_BUSY;
}

static void null_is_refused(void) {
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    mp_footprint footprint;
    mp_attempts attempts;
    mp_outcome outcome;
    mp_message message;
    uint64_t found;
    size_t done;

    CHECK(mp_engine_destroy(NULL) == MP_OK);
    CHECK(mp_engine_post(NULL, 1, &selector, &found) == MP_INVALID);
    CHECK(mp_engine_arrive(NULL, 1, &envelope, &found) == MP_INVALID);
    memset(&message, 0, sizeof message);
    CHECK(mp_engine_arrive_batch(NULL, &message, 1, &outcome, &done) == MP_INVALID);
    CHECK(mp_engine_deliver_batch(NULL, &message, 1, &outcome, &done, delivered, NULL) == MP_INVALID);
    CHECK(mp_engine_probe(NULL, &selector, &found) == MP_INVALID);
    CHECK(mp_engine_matched_probe(NULL, &selector, &found) == MP_INVALID);
    CHECK(mp_engine_cancel(NULL, 1, &selector) == MP_INVALID);
    CHECK(mp_engine_retract(NULL, 1, &envelope) == MP_INVALID);
    CHECK(mp_engine_readdress(NULL, 1, &envelope, 1, &found) == MP_INVALID);
    CHECK(mp_engine_set_hints(NULL, 0, 0) == MP_INVALID);
    CHECK(mp_engine_hints(NULL, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_close(NULL, 0, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_fail_source(NULL, 0, 1, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_visit(NULL, MP_QUEUE_POSTED, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_posted_len(NULL) == MP_INVALID && mp_engine_unexpected_len(NULL) == MP_INVALID);
    CHECK(mp_engine_order(NULL) == MP_INVALID);
    CHECK(mp_engine_footprint(NULL, &footprint, sizeof footprint) == MP_INVALID);
    CHECK(mp_engine_attempts(NULL, &attempts, sizeof attempts) == MP_INVALID);
    CHECK(mp_engine_statistics(NULL, NULL, NULL) == MP_INVALID);
}

static void names(const char *name) {
    mp_engine *engine = NULL;
    char error[16];

    CHECK(mp_engine_create(NULL, &engine, error, sizeof error) == MP_OK && mp_engine_destroy(engine) == MP_OK);
    CHECK(mp_engine_create("", &engine, error, sizeof error) == MP_OK && mp_engine_destroy(engine) == MP_OK);
    CHECK(mp_engine_create(name, NULL, error, sizeof error) == MP_INVALID);
    memset(error, 'x', sizeof error);
    engine = (mp_engine *)error;
    CHECK(mp_engine_create("lost", &engine, error, 9) == MP_UNKNOWN_NAME && engine == NULL);
    CHECK(strcmp(error, "there is") == 0 && error[9] == 'x');
    CHECK(mp_engine_create("\xff", &engine, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(mp_engine_create("bins:n=none", &engine, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(mp_engine_create("lost", &engine, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_engine_create("lost", &engine, error, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_engine_create_counting("lost", &engine, NULL, 0) == MP_UNKNOWN_NAME && engine == NULL);
}

static void bad_arguments_change_nothing(mp_engine *engine) {
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    mp_message batch[2];
    mp_outcome outcomes[2];
    uint64_t found = 77;
    size_t done = 77;

    CHECK(mp_engine_post(engine, 1, NULL, &found) == MP_INVALID);
    CHECK(mp_engine_post(engine, 1, &selector, NULL) == MP_INVALID);
    CHECK(mp_engine_probe(engine, NULL, &found) == MP_INVALID && mp_engine_probe(engine, &selector, NULL) == MP_INVALID);
    CHECK(mp_engine_cancel(engine, 1, NULL) == MP_INVALID);
    CHECK(mp_engine_arrive(engine, 1, NULL, &found) == MP_INVALID);
    CHECK(mp_engine_arrive(engine, 1, &envelope, NULL) == MP_INVALID);
    CHECK(mp_engine_retract(engine, 1, NULL) == MP_INVALID);
    CHECK(mp_engine_readdress(engine, 1, &envelope, 9, NULL) == MP_INVALID);
    CHECK(mp_engine_readdress(engine, 1, NULL, 9, &found) == MP_INVALID);
    memset(batch, 0, sizeof batch);
    CHECK(mp_engine_arrive_batch(engine, NULL, 2, outcomes, &done) == MP_INVALID);
    CHECK(mp_engine_arrive_batch(engine, batch, 1, NULL, &done) == MP_INVALID);
    CHECK(mp_engine_deliver_batch(engine, batch, 1, outcomes, &done, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_set_hints(engine, 0, 64) == MP_INVALID);
    CHECK(mp_engine_visit(engine, 2, NULL, NULL) == MP_INVALID);
    CHECK(found == 77 && done == 77);
    CHECK(mp_engine_posted_len(engine) == 0 && mp_engine_unexpected_len(engine) == 0);
    CHECK(mp_engine_arrive_batch(engine, NULL, 0, NULL, &done) == MP_OK && done == 0);
}

static int is(mp_outcome outcome, int32_t status, uint64_t id) { return outcome.status == status && outcome.id == id; }

static void words_and_structs_agree(mp_engine *engine) {
    mp_selector selector = asks(3, 7);
    mp_envelope envelope = says(3, 7);
    uint64_t found, pair = mp_pair(0, 3), any = mp_pair(0, MP_ANY_SOURCE);

    CHECK(is(mp_probe(engine, any, 0, MP_ANY_TAG), MP_NONE, 0) && is(mp_matched_probe(engine, pair, 7, 0), MP_NONE, 0));
    CHECK(is(mp_post_exact(engine, 1, pair, 7), MP_QUEUED, 0));
    CHECK(mp_engine_arrive(engine, 2, &envelope, &found) == MP_MATCHED && found == 1);
    CHECK(mp_engine_post(engine, 3, &selector, &found) == MP_QUEUED && is(mp_arrive(engine, 4, pair, 7), MP_MATCHED, 3));
    CHECK(is(mp_post(engine, 5, any, 0x10, 0xf), MP_QUEUED, 0) && is(mp_post_exact(engine, 6, any, 9), MP_QUEUED, 0));
    CHECK(is(mp_arrive(engine, 7, pair, 0x1f), MP_MATCHED, 5) && is(mp_arrive(engine, 8, pair, 9), MP_MATCHED, 6));
    CHECK(is(mp_arrive(engine, 9, pair, 1), MP_QUEUED, 0) && is(mp_arrive(engine, 10, pair, 2), MP_QUEUED, 0));
    CHECK(is(mp_probe(engine, any, 0, MP_ANY_TAG), MP_FOUND, 9) && is(mp_matched_probe(engine, pair, 2, 0), MP_FOUND, 10));
    CHECK(is(mp_post(engine, 11, mp_pair(1, 3), 0, MP_ANY_TAG), MP_QUEUED, 0));
    CHECK(is(mp_post_exact(engine, 12, pair, 1), MP_MATCHED, 9) && mp_engine_unexpected_len(engine) == 0);
    CHECK(mp_engine_set_hints(engine, 0, MP_HINT_NO_ANY_TAG | MP_HINT_NO_UNEXPECTED) == MP_OK);
    CHECK(is(mp_post(engine, 13, pair, 0, 1), MP_REFUSED_HINT, 0) && is(mp_arrive(engine, 14, pair, 1), MP_REFUSED_HINT, 0));
    CHECK(mp_engine_close(engine, 0, NULL, NULL) == MP_OK && mp_engine_close(engine, 1, NULL, NULL) == MP_OK);
}

static void a_batch_stops_where_it_is_refused(mp_engine *engine) {
    mp_selector selector = asks(1, 1);
    mp_message batch[3];
    mp_outcome outcomes[3];
    uint64_t found;
    size_t done = 77;

    memset(batch, 0, sizeof batch);
    memset(outcomes, 0xff, sizeof outcomes);
    CHECK(mp_engine_set_hints(engine, 0, MP_HINT_NO_UNEXPECTED) == MP_OK);
    CHECK(mp_engine_post(engine, 5, &selector, &found) == MP_QUEUED);
    batch[0].id = 1;
    batch[0].envelope = says(1, 1);
    batch[1].id = 2;
    batch[2].id = 3;
    CHECK(mp_engine_arrive_batch(engine, batch, 3, outcomes, &done) == MP_REFUSED_HINT && done == 1);
    CHECK(outcomes[0].status == MP_MATCHED && outcomes[0].id == 5 && outcomes[1].status == -1);
    CHECK(mp_engine_set_hints(engine, 0, 0) == MP_OK);
    CHECK(mp_engine_arrive_batch(engine, batch + 1, 2, outcomes, &done) == MP_OK && done == 2);
    CHECK(outcomes[1].status == MP_QUEUED && outcomes[1].id == 0);
    CHECK(mp_engine_close(engine, 0, NULL, NULL) == MP_OK);
}

static void what_is_delivered_is_what_matched(mp_engine *engine) {
    struct deliveries deliveries;
    mp_message batch[DELIVERIES];
    mp_outcome outcomes[DELIVERIES];
    uint64_t found, at;
    size_t done;

    memset(&deliveries, 0, sizeof deliveries);
    memset(batch, 0, sizeof batch);
    deliveries.engine = engine;
    CHECK(mp_engine_set_hints(engine, 0, MP_HINT_NO_UNEXPECTED) == MP_OK);
    for (at = 0; at < DELIVERIES; at++) {
        mp_selector selector = asks(at % 3, at);
        batch[at].id = at;
        batch[at].envelope = says(at % 3, at);
        if (at != DELIVERIES - 2) CHECK(mp_engine_post(engine, 500 + at, &selector, &found) == MP_QUEUED);
    }
    CHECK(mp_engine_deliver_batch(engine, batch, DELIVERIES, outcomes, &done, delivered, &deliveries) == MP_REFUSED_HINT);
    CHECK(done == DELIVERIES - 2);
    for (at = 0; at < DELIVERIES; at++) {
        CHECK(deliveries.times[at] == (at < done) && deliveries.busy[at] == (at < done));
        if (at < done) CHECK(deliveries.receive[at] == 500 + at && outcomes[at].id == 500 + at);
    }
    CHECK(mp_engine_set_hints(engine, 0, 0) == MP_OK);
    CHECK(mp_engine_deliver_batch(engine, batch + done, 2, outcomes, &done, delivered, &deliveries) == MP_OK);
    CHECK(done == 2 && deliveries.times[0] == 1 && deliveries.times[1] == 2 && deliveries.receive[1] == 499 + DELIVERIES);
    CHECK(outcomes[0].status == MP_QUEUED && outcomes[1].status == MP_MATCHED);
    CHECK(mp_engine_deliver_batch(engine, NULL, 0, NULL, &done, delivered, &deliveries) == MP_OK && done == 0);
    CHECK(mp_engine_close(engine, 0, NULL, NULL) == MP_OK);
}

static void withdrawing_and_naming(mp_engine *engine) {
    mp_envelope nameless = says(MP_UNKNOWN_SOURCE, 4), named = says(9, 4);
    mp_selector selector = asks(9, 4);
    uint64_t found;

    CHECK(mp_engine_arrive(engine, 1, &nameless, &found) == MP_QUEUED);
    CHECK(mp_engine_probe(engine, &selector, &found) == MP_NONE);
    CHECK(mp_engine_readdress(engine, 1, &nameless, 9, NULL) == MP_INVALID);
    CHECK(mp_engine_readdress(engine, 1, &nameless, 9, &found) == MP_NAMED);
    CHECK(mp_engine_readdress(engine, 1, &nameless, 9, &found) == MP_NONE);
    CHECK(mp_engine_readdress(engine, 1, &named, 9, &found) == MP_NONE);
    CHECK(mp_engine_probe(engine, &selector, &found) == MP_FOUND && found == 1);
    CHECK(mp_engine_retract(engine, 1, &named) == MP_FOUND && mp_engine_retract(engine, 1, &named) == MP_NONE);
    CHECK(mp_engine_arrive(engine, 1, &nameless, &found) == MP_QUEUED);
    CHECK(mp_engine_post(engine, 7, &selector, &found) == MP_QUEUED);
    CHECK(mp_engine_readdress(engine, 1, &nameless, 9, &found) == MP_MATCHED && found == 7);
    CHECK(mp_engine_cancel(engine, 7, &selector) == MP_NONE && mp_engine_retract(engine, 1, &nameless) == MP_NONE);
    CHECK(mp_engine_post(engine, 2, &selector, &found) == MP_QUEUED);
    CHECK(mp_engine_set_hints(engine, 0, MP_HINT_NO_ANY_SOURCE) == MP_OK);
    CHECK(mp_engine_post(engine, 3, &ANY, &found) == MP_REFUSED_HINT);
    CHECK(mp_engine_cancel(engine, 2, &selector) == MP_FOUND && mp_engine_cancel(engine, 2, &selector) == MP_NONE);
    CHECK(mp_engine_set_hints(engine, 0, 0) == MP_OK);
}

struct seen {
    mp_engine *engine;
    char text[256];
    int busy;
};

static void note(struct seen *seen, char kind, uint64_t id) {
    size_t length = strlen(seen->text);
    snprintf(seen->text + length, sizeof seen->text - length, "%c%u ", kind, (unsigned)id);
    seen->busy = mp_engine_cancel(seen->engine, 1, &ANY) == MP_BUSY && mp_engine_posted_len(seen->engine) == MP_BUSY
        && mp_engine_destroy(seen->engine) == MP_BUSY;
}

static void drained(void *user, int32_t kind, uint64_t id) { note(user, "rmp"[kind], id); }

static void visited(void *user, const mp_entry *entry) {
    struct seen *seen = user;
    note(seen, entry->queue == MP_QUEUE_POSTED ? 'r' : 'm', entry->id);
    if (entry->id == 1) CHECK(entry->source == MP_ANY_SOURCE && entry->ignore == MP_ANY_TAG && entry->context == 0);
    if (entry->id == 4) CHECK(entry->source == 8 && entry->tag == 3 && entry->ignore == 0);
}

static void told(void *user, const char *name, double value) {
    (void)value;
    CHECK(strlen(name) > 0);
    ++*(int *)user;
}

static void hinted(void *user, uint32_t context, uint32_t hints) {
    struct seen *seen = user;
    note(seen, 'c', context);
    note(seen, 'h', hints);
}

static void hints_are_told_again(mp_engine *engine) {
    const uint32_t both = MP_HINT_NO_ANY_SOURCE | MP_HINT_NO_ANY_TAG;
    mp_selector selector = ANY;
    struct seen seen;
    uint64_t found;

    memset(&seen, 0, sizeof seen);
    seen.engine = engine;
    CHECK(mp_engine_hints(engine, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_hints(engine, hinted, &seen) == MP_OK && seen.text[0] == '\0');
    CHECK(mp_engine_set_hints(engine, 9, both) == MP_OK);
    CHECK(mp_engine_set_hints(engine, 3, MP_HINT_EXACT_LENGTH) == MP_OK);
    CHECK(mp_engine_set_hints(engine, 5, MP_HINT_ALLOW_OVERTAKING) == MP_OK);
    CHECK(mp_engine_set_hints(engine, 5, 0) == MP_OK);
    /* What is refused is not noted. */
    selector.context = 4;
    CHECK(mp_engine_post(engine, 1, &selector, &found) == MP_QUEUED);
    CHECK(mp_engine_set_hints(engine, 4, MP_HINT_NO_ANY_TAG) == MP_REFUSED_HINT);
    CHECK(mp_engine_cancel(engine, 1, &selector) == MP_FOUND);
    CHECK(mp_engine_hints(engine, hinted, &seen) == MP_OK && seen.busy);
    CHECK(strcmp(seen.text, "c3 h4 c9 h3 ") == 0);
    CHECK(mp_engine_close(engine, 9, NULL, NULL) == MP_OK && mp_engine_close(engine, 3, NULL, NULL) == MP_OK);
    seen.text[0] = '\0';
    CHECK(mp_engine_hints(engine, hinted, &seen) == MP_OK && seen.text[0] == '\0');
}

static void callbacks(mp_engine *engine) {
    struct seen seen;
    mp_selector directed = asks(5, 1);
    mp_envelope elsewhere = says(8, 3);
    uint64_t found;

    memset(&seen, 0, sizeof seen);
    seen.engine = engine;
    elsewhere.context = 1;
    CHECK(mp_engine_post(engine, 1, &ANY, &found) == MP_QUEUED);
    CHECK(mp_engine_post(engine, 2, &directed, &found) == MP_QUEUED);
    CHECK(mp_engine_post(engine, 3, &ANY, &found) == MP_QUEUED);
    CHECK(mp_engine_arrive(engine, 4, &elsewhere, &found) == MP_QUEUED);
    CHECK(mp_engine_visit(engine, MP_QUEUE_POSTED, visited, &seen) == MP_OK && seen.busy);
    CHECK(mp_engine_visit(engine, MP_QUEUE_UNEXPECTED, visited, &seen) == MP_OK && seen.busy);
    CHECK(strcmp(seen.text, "r1 r2 r3 m4 ") == 0);
    seen.text[0] = '\0';
    CHECK(mp_engine_fail_source(engine, 0, MP_UNKNOWN_SOURCE, drained, &seen) == MP_INVALID);
    CHECK(mp_engine_fail_source(engine, 0, 5, drained, &seen) == MP_OK && seen.busy);
    CHECK(strcmp(seen.text, "r2 p1 p3 ") == 0);
    seen.text[0] = '\0';
    CHECK(mp_engine_close(engine, 0, drained, &seen) == MP_OK);
    CHECK(mp_engine_close(engine, 1, drained, &seen) == MP_OK);
    CHECK(strcmp(seen.text, "r1 r3 m4 ") == 0);
}

static void figures(const char *name) {
    mp_engine *engine;
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    struct {
        mp_footprint known;
        uint64_t beyond;
    } newer;
    mp_attempts attempts;
    uint64_t found;
    int statistics = 0;

    CHECK(mp_engine_create_counting(name, &engine, NULL, 0) == MP_OK);
    CHECK(mp_engine_post(engine, 1, &selector, &found) == MP_QUEUED);
    CHECK(mp_engine_arrive(engine, 1, &envelope, &found) == MP_MATCHED && found == 1);
    CHECK(mp_engine_attempts(engine, &attempts, sizeof attempts) == MP_OK && attempts.posted > 0);
    CHECK(mp_engine_attempts(engine, NULL, sizeof attempts) == MP_INVALID);
    newer.beyond = 77;
    CHECK(mp_engine_footprint(engine, &newer.known, sizeof newer) == MP_OK);
    CHECK(newer.known.fixed_bytes > 0 && newer.known.peak_bytes >= newer.known.fixed_bytes && newer.beyond == 0);
    newer.known.peak_bytes = 77;
    CHECK(mp_engine_footprint(engine, &newer.known, 8) == MP_OK && newer.known.peak_bytes == 77);
    CHECK(mp_engine_order(engine) == MP_ORDER_TOTAL);
    CHECK(mp_engine_statistics(engine, told, &statistics) == MP_OK);
    CHECK(mp_engine_statistics(engine, NULL, NULL) == MP_INVALID);
    CHECK(mp_engine_destroy(engine) == MP_OK);
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "list";
    mp_engine *engine;

    library();
    null_is_refused();
    names(name);
    CHECK(mp_engine_create(name, &engine, NULL, 0) == MP_OK);
    bad_arguments_change_nothing(engine);
    words_and_structs_agree(engine);
    a_batch_stops_where_it_is_refused(engine);
    what_is_delivered_is_what_matched(engine);
    withdrawing_and_naming(engine);
    hints_are_told_again(engine);
    callbacks(engine);
    CHECK(mp_engine_destroy(engine) == MP_OK);
    figures(name);
    return EXIT_SUCCESS;
}
