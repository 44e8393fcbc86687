/* Every function of engines in a thread of their own, with good arguments and with bad ones, on the one that is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

#include "check.h"

static mp_offload *offload;
static mp_wire *wire;

/* What callbacks were told. */
static uint64_t told[8];
static int32_t kinds[8];
static size_t count;

static void drained(void *user, int32_t kind, uint64_t id) {
    CHECK(user == told && mp_offload_cancel(offload, id, &ANY) == MP_BUSY);
    CHECK(mp_offload_destroy(offload) == MP_BUSY);
    kinds[count] = kind;
    told[count++] = id;
}

static void seen(void *user, const mp_entry *entry) {
    CHECK(user == told && mp_offload_poll(offload, NULL, 1) == MP_INVALID);
    CHECK(mp_offload_poll(offload, NULL, 0) == MP_BUSY);
    CHECK(mp_offload_posted_len(offload) == MP_BUSY);
    kinds[count] = entry->queue;
    told[count++] = entry->id;
}

static void null_is_refused(void) {
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    mp_completion news;
    mp_footprint footprint;
    uint64_t found;

    CHECK(mp_offload_destroy(NULL) == MP_OK && mp_wire_destroy(NULL) == MP_OK);
    CHECK(mp_offload_post(NULL, 1, &selector) == MP_INVALID && mp_wire_arrive(NULL, 1, &envelope) == MP_INVALID);
    CHECK(mp_offload_poll(NULL, NULL, 0) == MP_INVALID);
    CHECK(mp_offload_poll(NULL, &news, 1) == MP_INVALID && mp_offload_fell_back(NULL) == MP_INVALID);
    CHECK(mp_offload_cancel(NULL, 1, &selector) == MP_INVALID);
    CHECK(mp_offload_retract(NULL, 1, &envelope) == MP_INVALID);
    CHECK(mp_offload_probe(NULL, &selector, &found) == MP_INVALID);
    CHECK(mp_offload_matched_probe(NULL, &selector, &found) == MP_INVALID);
    CHECK(mp_offload_readdress(NULL, 1, &envelope, 1, &found) == MP_INVALID);
    CHECK(mp_offload_set_hints(NULL, 0, 0) == MP_INVALID);
    CHECK(mp_offload_close(NULL, 0, NULL, NULL) == MP_INVALID);
    CHECK(mp_offload_fail_source(NULL, 0, 1, NULL, NULL) == MP_INVALID);
    CHECK(mp_offload_visit(NULL, MP_QUEUE_POSTED, seen, NULL) == MP_INVALID);
    CHECK(mp_offload_posted_len(NULL) == MP_INVALID && mp_offload_unexpected_len(NULL) == MP_INVALID);
    CHECK(mp_offload_footprint(NULL, &footprint, sizeof footprint) == MP_INVALID);
}

static void names(const char *name) {
    char error[256];

    CHECK(mp_offload_create(name, NULL, &wire, error, sizeof error) == MP_INVALID && wire == NULL);
    offload = (mp_offload *)error;
    CHECK(mp_offload_create(name, &offload, NULL, error, sizeof error) == MP_INVALID && offload == NULL);
    CHECK(strcmp(error, "wire is NULL") == 0);
    offload = (mp_offload *)error;
    wire = (mp_wire *)error;
    CHECK(mp_offload_create("list", &offload, &wire, error, sizeof error) == MP_UNKNOWN_NAME);
    CHECK(offload == NULL && wire == NULL && strstr(error, "it is offload:budget_kib=4608,ring=1024,engine=NAME"));
    CHECK(mp_offload_create("offload:engine=lost", &offload, &wire, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_offload_create("offload:ring=0,engine=list", &offload, &wire, NULL, 0) == MP_UNKNOWN_NAME);
    CHECK(mp_offload_create(NULL, &offload, &wire, NULL, 0) == MP_OK && offload && wire);
    /* In either order. */
    CHECK(mp_wire_destroy(wire) == MP_OK && mp_offload_destroy(offload) == MP_OK);
    CHECK(mp_offload_create("", &offload, &wire, NULL, 0) == MP_OK);
    CHECK(mp_offload_destroy(offload) == MP_OK && mp_wire_destroy(wire) == MP_OK);
}

static void bad_arguments_change_nothing(void) {
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);
    uint64_t found = 77;

    CHECK(mp_offload_post(offload, 1, NULL) == MP_INVALID && mp_wire_arrive(wire, 1, NULL) == MP_INVALID);
    CHECK(mp_offload_probe(offload, &selector, NULL) == MP_INVALID);
    CHECK(mp_offload_matched_probe(offload, &selector, NULL) == MP_INVALID);
    CHECK(mp_offload_readdress(offload, 1, &envelope, 1, NULL) == MP_INVALID);
    CHECK(mp_offload_probe(offload, NULL, &found) == MP_INVALID);
    CHECK(mp_offload_matched_probe(offload, NULL, &found) == MP_INVALID);
    CHECK(mp_offload_cancel(offload, 1, NULL) == MP_INVALID);
    CHECK(mp_offload_retract(offload, 1, NULL) == MP_INVALID);
    CHECK(mp_offload_readdress(offload, 1, NULL, 1, &found) == MP_INVALID);
    CHECK(mp_offload_set_hints(offload, 0, 64) == MP_INVALID);
    CHECK(mp_offload_fail_source(offload, 0, MP_UNKNOWN_SOURCE, NULL, NULL) == MP_INVALID);
    CHECK(mp_offload_visit(offload, 7, seen, told) == MP_INVALID);
    CHECK(mp_offload_visit(offload, MP_QUEUE_POSTED, NULL, told) == MP_INVALID);
    CHECK(mp_offload_footprint(offload, NULL, 8) == MP_INVALID);
    CHECK(mp_offload_posted_len(offload) == 0 && mp_offload_unexpected_len(offload) == 0 && found == 77);
}

static void post(uint64_t receive, mp_selector selector) { CHECK(mp_offload_post(offload, receive, &selector) == MP_OK); }

static void arrive(uint64_t message, mp_envelope envelope) { CHECK(mp_wire_arrive(wire, message, &envelope) == MP_OK); }

/* The next thing that there is to tell. */
static mp_completion next(void) {
    mp_completion news;
    int64_t count;
    while ((count = mp_offload_poll(offload, &news, 1)) == 0) continue;
    CHECK(count == 1);
    return news;
}

/* Waits until so many messages are unexpected. */
static void wait_for(int64_t messages) {
    mp_completion news;
    while (mp_offload_unexpected_len(offload) != messages) CHECK(mp_offload_poll(offload, &news, 1) == 0);
}

static void calls(void) {
    mp_selector any = ANY, one = asks(1, 1);
    mp_envelope fifth = says(2, 7), nameless = says(MP_UNKNOWN_SOURCE, 1);
    mp_footprint footprint;
    mp_completion news;
    uint64_t found = 0;

    post(1, asks(1, 1));
    arrive(2, says(1, 1));
    CHECK(mp_offload_poll(offload, NULL, 1) == MP_INVALID && mp_offload_poll(offload, NULL, 0) == 0);
    news = next();
    CHECK(news.kind == MP_COMPLETION_MATCHED && news.status == MP_MATCHED && news.receive == 1 && news.message == 2);
    /* Taken back, whether or not it was come to. */
    post(3, any);
    CHECK(mp_offload_cancel(offload, 3, &any) == MP_FOUND && mp_offload_cancel(offload, 3, &any) == MP_NONE);
    arrive(4, says(1, 1));
    arrive(5, fifth);
    wait_for(2);
    CHECK(mp_offload_probe(offload, &any, &found) == MP_FOUND && found == 4);
    CHECK(mp_offload_matched_probe(offload, &any, &found) == MP_FOUND && found == 4);
    CHECK(mp_offload_probe(offload, &one, &found) == MP_NONE);
    CHECK(mp_offload_visit(offload, MP_QUEUE_UNEXPECTED, seen, told) == MP_OK);
    CHECK(count == 1 && told[0] == 5 && kinds[0] == MP_QUEUE_UNEXPECTED);
    CHECK(mp_offload_retract(offload, 5, &fifth) == MP_FOUND && mp_offload_retract(offload, 5, &fifth) == MP_NONE);
    /* A source that is learned later, and somebody waits for. */
    arrive(6, nameless);
    wait_for(1);
    post(7, one);
    CHECK(mp_offload_readdress(offload, 6, &nameless, 1, &found) == MP_MATCHED && found == 7);
    CHECK(mp_offload_readdress(offload, 6, &nameless, 1, &found) == MP_NONE);
    CHECK(mp_offload_footprint(offload, &footprint, sizeof footprint) == MP_OK);
    CHECK(mp_offload_posted_len(offload) == 0 && mp_offload_unexpected_len(offload) == 0);
    /* What breaks an assertion is told by a completion. */
    CHECK(mp_offload_set_hints(offload, 0, MP_HINT_NO_ANY_SOURCE | MP_HINT_NO_UNEXPECTED) == MP_OK);
    post(8, any);
    news = next();
    CHECK(news.kind == MP_COMPLETION_RECEIVE_REFUSED && news.status == MP_REFUSED_HINT);
    CHECK(news.receive == 8 && news.message == 0);
    arrive(9, says(1, 1));
    news = next();
    CHECK(news.kind == MP_COMPLETION_MESSAGE_REFUSED && news.status == MP_REFUSED_HINT);
    CHECK(news.receive == 0 && news.message == 9);
    CHECK(mp_offload_set_hints(offload, 0, 0) == MP_OK);
    post(10, one);
    post(11, asks(2, 2));
    count = 0;
    CHECK(mp_offload_fail_source(offload, 0, 2, drained, told) == MP_OK);
    CHECK(count == 1 && told[0] == 11 && kinds[0] == MP_DRAINED_RECEIVE);
    CHECK(mp_offload_close(offload, 0, drained, told) == MP_OK);
    CHECK(count == 2 && told[1] == 10 && kinds[1] == MP_DRAINED_RECEIVE);
    CHECK(mp_offload_close(offload, 0, NULL, NULL) == MP_OK);
}

/* Who polls only when rings are full: nothing is lost, and nothing passes anything. */
static void full_rings(void) {
    enum { ALL = 64 };
    uint64_t posted = 0, arrived = 0, heard = 0, full = 0;
    mp_selector selector = asks(1, 1);
    mp_envelope envelope = says(1, 1);

    CHECK(mp_offload_create("offload:ring=4,engine=list", &offload, &wire, NULL, 0) == MP_OK);
    while (heard < ALL) {
        int32_t post = posted < ALL ? mp_offload_post(offload, posted, &selector) : MP_AGAIN;
        int32_t arrive = arrived < ALL ? mp_wire_arrive(wire, arrived, &envelope) : MP_AGAIN;
        CHECK((post == MP_OK || post == MP_AGAIN) && (arrive == MP_OK || arrive == MP_AGAIN));
        posted += post == MP_OK;
        arrived += arrive == MP_OK;
        if (post == MP_AGAIN && arrive == MP_AGAIN) {
            mp_completion news[3];
            int64_t count = mp_offload_poll(offload, news, 3), at;
            CHECK(count >= 0 && count <= 3);
            for (at = 0; at < count; at++, heard++) CHECK(news[at].receive == heard && news[at].message == heard);
            full++;
        }
    }
    CHECK(posted == ALL && arrived == ALL && full > 0);
    CHECK(mp_offload_destroy(offload) == MP_OK);
    /* Nobody takes them any more. */
    while (mp_wire_arrive(wire, 1, &envelope) == MP_OK) continue;
    CHECK(mp_wire_arrive(wire, 1, &envelope) == MP_AGAIN && mp_wire_destroy(wire) == MP_OK);
}

int main(int argc, char **arguments) {
    const char *name = argc > 1 ? arguments[1] : NULL;

    null_is_refused();
    names(name);
    CHECK(mp_offload_create(name, &offload, &wire, NULL, 0) == MP_OK);
    bad_arguments_change_nothing();
    calls();
    CHECK(mp_offload_destroy(offload) == MP_OK && mp_wire_destroy(wire) == MP_OK);
    full_rings();
    CHECK(strcmp(mp_status_text(MP_AGAIN), "a ring is full: poll, then try again") == 0);
    return EXIT_SUCCESS;
}
