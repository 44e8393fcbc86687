/* Batches: messages that arrive together are matched together. The matching threads also deliver each matched
 * message, here by a copy.
 *
 *     cc -std=c99 batches.c $(pkg-config --cflags --libs matchpoint) -o batches && ./batches optimistic_parallel:threads=4
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

enum { MESSAGES = 512, WINDOW = 128, ROOM = 256, PEERS = 8, ROUNDS = 20 };

/* A receive's buffer and its number of deliveries; a message's payload in the network's memory. */
static struct { char buffer[ROOM]; int filled; } requests[MESSAGES];
static char payloads[MESSAGES][ROOM];

/* Data for deliveries, read-only during a batch. */
struct window {
    size_t first;
};

static void give_up(const char *what, int64_t status) {
    fprintf(stderr, "%s: %s\n", what, mp_status_text(status));
    exit(EXIT_FAILURE);
}

/* Called concurrently for several messages, in threads of the library. No two messages take the same receive,
 * so no two copies write to one request, and no lock is needed. The function calls no engine, and returns. */
static void deliver(void *user, size_t number, uint64_t receive) {
    const struct window *window = user;
    memcpy(requests[receive].buffer, payloads[window->first + number], ROOM);
    requests[receive].filled++;
}

static void post(mp_engine *engine, uint64_t request) {
    mp_outcome outcome = mp_post_exact(engine, request, mp_pair(0, request % PEERS), request);
    if (outcome.status < 0) give_up("post", outcome.status);
    if (outcome.status == MP_MATCHED) {
        /* The message was unexpected. No other thread copies now. */
        memcpy(requests[request].buffer, payloads[outcome.id], ROOM);
        requests[request].filled++;
    }
}

/* Hands over the network's messages, a window at a time. */
static size_t progress(mp_engine *engine) {
    size_t first, at, done, matched = 0;
    mp_message batch[WINDOW];
    mp_outcome outcomes[WINDOW];

    for (first = 0; first < MESSAGES; first += WINDOW) {
        struct window window = {first};
        int32_t status;
        for (at = 0; at < WINDOW; at++) {
            mp_message message = {.id = first + at, .pair = mp_pair(0, (first + at) % PEERS), .tag = first + at};
            batch[at] = message;
        }
        status = mp_arrive_batch(engine, batch, WINDOW, outcomes, &done, deliver, &window);
        if (status != MP_OK) give_up("deliver", status);
        for (at = 0; at < done; at++) matched += outcomes[at].status == MP_MATCHED;
    }
    return matched;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "optimistic_parallel";
    char error[256];
    mp_engine *engine;
    uint64_t at;
    int round;

    if (mp_create(name, 0, &engine, error, sizeof error) != MP_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    for (at = 0; at < MESSAGES; at++) snprintf(payloads[at], ROOM, "message %u", (unsigned)at);
    for (round = 0; round < ROUNDS; round++) {
        size_t matched;
        memset(requests, 0, sizeof requests);
        /* Every eighth receive is late. */
        for (at = 0; at < MESSAGES; at++) if (at % 8 != 7) post(engine, at);
        matched = progress(engine);
        for (at = 0; at < MESSAGES; at++) if (at % 8 == 7) post(engine, at);
        for (at = 0; at < MESSAGES; at++) {
            if (requests[at].filled == 1 && strcmp(requests[at].buffer, payloads[at]) == 0) continue;
            fprintf(stderr, "request %u was filled %d times: %s\n", (unsigned)at, requests[at].filled, requests[at].buffer);
            return EXIT_FAILURE;
        }
        if (matched != MESSAGES - MESSAGES / 8 || mp_posted_len(engine) + mp_unexpected_len(engine) != 0) {
            fprintf(stderr, "%u messages were delivered in batches\n", (unsigned)matched);
            return EXIT_FAILURE;
        }
    }
    if (mp_destroy(engine) != MP_OK) return EXIT_FAILURE;
    printf("%s: %d batches, all as it should be\n", name, ROUNDS * MESSAGES / WINDOW);
    return EXIT_SUCCESS;
}
