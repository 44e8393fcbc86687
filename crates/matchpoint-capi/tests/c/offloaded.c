/* Calls every function of an engine in a separate thread, with valid and invalid arguments. */
#include <string.h>

#include "check.h"

static mp_engine *engine;
static mp_wire *wire;

/* The arguments of the callbacks. */
static uint64_t ids[8];
static int32_t kinds[8];
static size_t count;

static void drained(void *user, int32_t kind, uint64_t id) {
    CHECK(user == ids && mp_cancel(engine, id, ANY, 0, 0) == MP_BUSY && mp_destroy(engine) == MP_BUSY);
    kinds[count] = kind;
    ids[count++] = id;
}

static void seen(void *user, const mp_entry *entry) {
    CHECK(user == ids && mp_poll(engine, NULL, 0) == MP_BUSY && mp_posted_len(engine) == MP_BUSY);
    kinds[count] = entry->queue;
    ids[count++] = entry->id;
}

static void names(const char *name) {
    char error[256];

    CHECK(mp_create_offload(name, NULL, &wire, error, sizeof error) == MP_INVALID && wire == NULL);
    engine = (mp_engine *)error;
    CHECK(mp_create_offload(name, &engine, NULL, error, sizeof error) == MP_INVALID && engine == NULL);
    CHECK(strcmp(error, "wire is NULL") == 0);
    engine = (mp_engine *)error;
    wire = (mp_wire *)error;
    CHECK(mp_create_offload("list", &engine, &wire, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(engine == NULL && wire == NULL && strstr(error, "write offload:budget_kib=4608,ring=1024,engine=NAME"));
    CHECK(mp_create_offload("offload:engine=lost", &engine, &wire, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_create_offload("offload:ring=0,engine=list", &engine, &wire, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_create_offload(NULL, &engine, &wire, NULL, 0) == MP_OK && engine && wire);
    /* Engine and wire may be destroyed in either order. */
    mp_wire_destroy(wire);
    CHECK(mp_destroy(engine) == MP_OK && mp_create_offload("", &engine, &wire, NULL, 0) == MP_OK);
    CHECK(mp_destroy(engine) == MP_OK);
    mp_wire_destroy(wire);
    mp_wire_destroy(NULL);
}

static void invalid_arguments_change_nothing(void) {
    CHECK(is(mp_arrive(engine, 1, 1, 1), MP_INVALID, 0) && mp_hints(engine, NULL, NULL) == MP_INVALID);
    CHECK(mp_arrive_batch(engine, NULL, 0, NULL, NULL, NULL, NULL) == MP_INVALID);
    CHECK(is(mp_take_receive(engine, 1, 1), MP_INVALID, 0) && mp_order(engine) == MP_INVALID);
    CHECK(mp_poll(engine, NULL, 1) == MP_INVALID);
    CHECK(mp_set_hints(engine, 0, 64) == MP_INVALID);
    CHECK(mp_fail_source(engine, 0, MP_UNKNOWN_SOURCE, NULL, NULL) == MP_INVALID);
    CHECK(mp_visit(engine, 7, seen, ids) == MP_INVALID && mp_visit(engine, MP_QUEUE_POSTED, NULL, ids) == MP_INVALID);
    CHECK(mp_footprint_of(engine, NULL, 8) == MP_INVALID);
    CHECK(mp_posted_len(engine) == 0 && mp_unexpected_len(engine) == 0);
}

static void post(uint64_t receive, uint64_t pair, uint64_t tag) {
    CHECK(is(mp_post_exact(engine, receive, pair, tag), MP_OK, 0));
}

static void arrive(uint64_t message, uint64_t pair, uint64_t tag) {
    CHECK(mp_wire_arrive(wire, message, pair, tag) == MP_OK);
}

static mp_completion next(void) {
    mp_completion news;
    int64_t count;

    while ((count = mp_poll(engine, &news, 1)) == 0) continue;
    CHECK(count == 1);
    return news;
}

/* Waits for this number of unexpected messages. */
static void wait_for(int64_t messages) {
    mp_completion news;
    while (mp_unexpected_len(engine) != messages) CHECK(mp_poll(engine, &news, 1) == 0);
}

static void calls(void) {
    const uint64_t unknown_source = mp_pair(0, MP_UNKNOWN_SOURCE);
    mp_footprint footprint;
    mp_completion news;

    post(1, 1, 1);
    arrive(2, 1, 1);
    CHECK(mp_poll(engine, NULL, 0) == 0);
    news = next();
    CHECK(news.kind == MP_COMPLETION_MATCHED && news.status == MP_MATCHED && news.receive == 1 && news.message == 2);
    CHECK(is(mp_post(engine, 3, ANY, 0, MP_ANY_TAG), MP_OK, 0));
    CHECK(mp_cancel(engine, 3, ANY, 0, MP_ANY_TAG) == MP_FOUND && mp_cancel(engine, 3, ANY, 0, MP_ANY_TAG) == MP_NONE);
    arrive(4, 1, 1);
    arrive(5, 2, 7);
    wait_for(2);
    CHECK(is(mp_probe(engine, ANY, 0, MP_ANY_TAG), MP_FOUND, 4));
    CHECK(is(mp_matched_probe(engine, ANY, 0, MP_ANY_TAG), MP_FOUND, 4) && is_none(mp_probe(engine, 1, 1, 0)));
    CHECK(mp_visit(engine, MP_QUEUE_UNEXPECTED, seen, ids) == MP_OK);
    CHECK(count == 1 && ids[0] == 5 && kinds[0] == MP_QUEUE_UNEXPECTED);
    CHECK(mp_retract(engine, 5, 2, 7) == MP_FOUND && mp_retract(engine, 5, 2, 7) == MP_NONE);
    arrive(6, unknown_source, 1);
    wait_for(1);
    post(7, 1, 1);
    CHECK(is(mp_readdress(engine, 6, unknown_source, 1, 1), MP_MATCHED, 7) && is(mp_readdress(engine, 6, unknown_source, 1, 1), MP_NONE, 0));
    CHECK(mp_footprint_of(engine, &footprint, sizeof footprint) == MP_OK && footprint.peak_bytes > 0);
    CHECK(mp_posted_len(engine) == 0 && mp_unexpected_len(engine) == 0);
    /* Refusals are completions. */
    CHECK(mp_set_hints(engine, 0, MP_HINT_NO_ANY_SOURCE | MP_HINT_NO_UNEXPECTED) == MP_OK);
    CHECK(is(mp_post(engine, 8, ANY, 0, MP_ANY_TAG), MP_OK, 0));
    news = next();
    CHECK(news.kind == MP_COMPLETION_RECEIVE_REFUSED && news.status == MP_REFUSED_HINT);
    CHECK(news.receive == 8 && news.message == 0);
    arrive(9, 1, 1);
    news = next();
    CHECK(news.kind == MP_COMPLETION_MESSAGE_REFUSED && news.status == MP_REFUSED_HINT);
    CHECK(news.receive == 0 && news.message == 9);
    CHECK(mp_set_hints(engine, 0, 0) == MP_OK);
    post(10, 1, 1);
    post(11, 2, 2);
    count = 0;
    CHECK(mp_fail_source(engine, 0, 2, drained, ids) == MP_OK);
    CHECK(count == 1 && ids[0] == 11 && kinds[0] == MP_DRAINED_RECEIVE);
    CHECK(mp_close(engine, 0, drained, ids) == MP_OK);
    CHECK(count == 2 && ids[1] == 10 && kinds[1] == MP_DRAINED_RECEIVE);
    CHECK(mp_close(engine, 0, NULL, NULL) == MP_OK);
}

/* The program polls only when both rings are full. Each receive and each message completes once, in order. */
static void full_rings(void) {
    enum { ALL = 64 };
    uint64_t posted = 0, arrived = 0, completed = 0, full = 0;

    CHECK(mp_create_offload("offload:ring=4,engine=list", &engine, &wire, NULL, 0) == MP_OK);
    while (completed < ALL) {
        int64_t post = posted < ALL ? mp_post_exact(engine, posted, 1, 1).status : MP_AGAIN;
        int64_t arrive = arrived < ALL ? mp_wire_arrive(wire, arrived, 1, 1) : MP_AGAIN;
        CHECK((post == MP_OK || post == MP_AGAIN) && (arrive == MP_OK || arrive == MP_AGAIN));
        posted += post == MP_OK;
        arrived += arrive == MP_OK;
        if (post == MP_AGAIN && arrive == MP_AGAIN) {
            mp_completion news[3];
            int64_t count = mp_poll(engine, news, 3), at;
            CHECK(count >= 0 && count <= 3);
            for (at = 0; at < count; at++, completed++) CHECK(news[at].receive == completed && news[at].message == completed);
            full++;
        }
    }
    CHECK(posted == ALL && arrived == ALL && full > 0 && mp_destroy(engine) == MP_OK);
    /* Without an engine, nothing empties the ring of messages. */
    while (mp_wire_arrive(wire, 1, 1, 1) == MP_OK) continue;
    CHECK(mp_wire_arrive(wire, 1, 1, 1) == MP_AGAIN);
    mp_wire_destroy(wire);
}

int main(int argc, char **arguments) {
    const char *name = argc > 1 ? arguments[1] : NULL;

    names(name);
    CHECK(mp_create_offload(name, &engine, &wire, NULL, 0) == MP_OK);
    invalid_arguments_change_nothing();
    calls();
    CHECK(mp_destroy(engine) == MP_OK);
    mp_wire_destroy(wire);
    full_rings();
    CHECK(strcmp(mp_status_text(MP_AGAIN), "a ring is full: poll, then try again") == 0);
    return EXIT_SUCCESS;
}
