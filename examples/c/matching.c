/* Use of an engine in an MPI library. The library owns requests and payloads; the engine matches.
 *
 *     cc -std=c99 matching.c $(pkg-config --cflags --libs matchpoint) -o matching && ./matching */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

/* State of the library: a receive is a request, and an unexpected message is a copy of its payload. Ids are
 * slots of these tables, with the number of the slot's owner in the upper bits. A late cancel therefore finds
 * no receive instead of the slot's next owner. */
enum { PLACES = 64, ROOM = 32 };

struct request {
    uint32_t generation;
    int in_use;
    int complete;
    uint64_t pair, tag, ignore;
    char *buffer;
};

struct arrived {
    int in_use;
    char payload[ROOM];
};

static struct request requests[PLACES];
static struct arrived unexpected[PLACES];
static mp_engine *engine;

static void give_up(const char *what, int64_t status) {
    fprintf(stderr, "%s: %s\n", what, mp_status_text(status));
    exit(EXIT_FAILURE);
}

static void complete(struct request *request, const char *payload) {
    memcpy(request->buffer, payload, ROOM);
    request->complete = 1;
    request->in_use = 0;
}

static void take(uint64_t message, struct request *request) {
    complete(request, unexpected[message].payload);
    unexpected[message].in_use = 0;
}

/* MPI_Irecv: returns the request's id. */
static uint64_t receive(char *buffer, uint32_t source, uint64_t tag, uint64_t ignore) {
    struct request *request = requests;
    mp_outcome outcome;
    uint64_t id;

    while (request->in_use) request++;
    assert(request < requests + PLACES);
    request->in_use = 1;
    request->complete = 0;
    request->buffer = buffer;
    request->generation++;
    request->pair = mp_pair(0, source);
    request->tag = tag;
    request->ignore = ignore;
    id = (uint64_t)request->generation << 32 | (uint64_t)(request - requests);
    outcome = mp_post(engine, id, request->pair, tag, ignore);
    if (outcome.status < 0) give_up("receive", outcome.status);
    if (outcome.status == MP_MATCHED) take(outcome.id, request);
    return id;
}

/* MPI_Cancel: with the words of the posted receive. */
static int32_t cancel(uint64_t id) {
    const struct request *request = &requests[id & UINT32_MAX];
    return mp_cancel(engine, id, request->pair, request->tag, request->ignore);
}

/* Called by the network for an arriving message. */
static void arrive(const char *payload, uint32_t source, uint64_t tag) {
    mp_outcome outcome;
    uint64_t place = 0;

    while (unexpected[place].in_use) place++;
    assert(place < PLACES);
    outcome = mp_arrive(engine, place, mp_pair(0, source), tag);
    if (outcome.status < 0) give_up("arrive", outcome.status);
    if (outcome.status == MP_MATCHED) {
        complete(&requests[outcome.id & UINT32_MAX], payload);
    } else {
        unexpected[place].in_use = 1;
        memcpy(unexpected[place].payload, payload, ROOM);
    }
}

static int is_complete(uint64_t id) { return requests[id & UINT32_MAX].complete; }

static void drained(void *user, int32_t kind, uint64_t id) {
    unsigned *counts = user;
    if (kind == MP_DRAINED_RECEIVE) requests[id & UINT32_MAX].in_use = 0;
    if (kind == MP_DRAINED_MESSAGE) unexpected[id].in_use = 0;
    counts[kind]++;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "list";
    char error[256], first[ROOM], second[ROOM];
    static const char hello[ROOM] = "hello", there[ROOM] = "there";
    unsigned counts[3] = {0, 0, 0};
    uint64_t id;

    if (mp_abi_version() != MP_ABI_VERSION) give_up("another version of the library", MP_INVALID);
    if (mp_create(name, 0, &engine, error, sizeof error) != MP_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }

    /* A message without a receive is queued. A receive with any source and any tag takes the oldest. */
    arrive(hello, 3, 7);
    arrive(there, 4, 7);
    assert(mp_unexpected_len(engine) == 2);
    assert(mp_probe(engine, mp_pair(0, MP_ANY_SOURCE), 0, MP_ANY_TAG).status == MP_FOUND);
    id = receive(first, MP_ANY_SOURCE, 0, MP_ANY_TAG);
    assert(is_complete(id) && strcmp(first, "hello") == 0);
    id = receive(second, 4, 7, 0);
    assert(is_complete(id) && strcmp(second, "there") == 0);

    /* An older any-source receive precedes a younger directed receive. */
    id = receive(first, MP_ANY_SOURCE, 7, 0);
    receive(second, 3, 7, 0);
    arrive(there, 3, 7);
    assert(is_complete(id) && strcmp(first, "there") == 0);

    /* Too late to cancel the first receive, in time for a third, of which only the upper tag bits count. */
    assert(cancel(id) == MP_NONE);
    id = receive(first, 3, 0x100, 0xff);
    assert(cancel(id) == MP_FOUND);

    /* MPI_Comm_free: the remaining entries are returned. */
    arrive(hello, 9, 9);
    assert(mp_close(engine, 0, drained, counts) == MP_OK);
    assert(counts[MP_DRAINED_RECEIVE] == 1 && counts[MP_DRAINED_MESSAGE] == 1);
    assert(mp_posted_len(engine) == 0 && mp_unexpected_len(engine) == 0);

    printf("libmatchpoint %s, engine %s: all as it should be\n", mp_version(), name);
    return mp_destroy(engine) == MP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
