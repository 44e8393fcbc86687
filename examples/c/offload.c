/* Matching in a thread of its own: the application hands in receives and goes on computing, the thread of the network hands in
 * messages, and what came of both the application learns when it polls.
 *
 *     cc -std=c99 -pthread offload.c $(pkg-config --cflags --libs matchpoint) -o offload && ./offload offload:engine=hybrid
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

enum { SOURCES = 8, ROUNDS = 400, MESSAGES = SOURCES * ROUNDS, NEWS = 32 };

static mp_wire *wire;

static void give_up(const char *what, int64_t status) {
    fprintf(stderr, "%s: %s\n", what, mp_status_text((int32_t)status));
    exit(EXIT_FAILURE);
}

/* The thread of the network: of each source one message a round. A ring that is full has room again once the application polls. */
static void *brings(void *user) {
    uint64_t at;
    (void)user;
    for (at = 0; at < MESSAGES; at++) {
        mp_envelope envelope = {.source = at % SOURCES, .tag = at / SOURCES};
        int32_t status;
        while ((status = mp_wire_arrive(wire, at, &envelope)) == MP_AGAIN) sched_yield();
        if (status != MP_OK) give_up("arrive", status);
    }
    return NULL;
}

/* What the application has been told: each receive is completed once, by the message of its source and tag. */
static char completed[MESSAGES];
static size_t count;

static void hears(mp_offload *offload) {
    mp_completion news[NEWS];
    int64_t told = mp_offload_poll(offload, news, NEWS), at;
    if (told < 0) give_up("poll", told);
    for (at = 0; at < told; at++) {
        if (news[at].status != MP_MATCHED) give_up("completion", news[at].status);
        if (news[at].receive != news[at].message || completed[news[at].receive]++) {
            fprintf(stderr, "receive %d has message %d\n", (int)news[at].receive, (int)news[at].message);
            exit(EXIT_FAILURE);
        }
        count++;
    }
}

int main(int argc, char **arguments) {
    const char *name = argc > 1 ? arguments[1] : "offload:engine=hybrid";
    mp_offload *offload;
    pthread_t network;
    char error[256];
    uint64_t at;

    if (mp_offload_create(name, &offload, &wire, error, sizeof error) != MP_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    if (pthread_create(&network, NULL, brings, NULL)) return EXIT_FAILURE;
    for (at = 0; at < MESSAGES; at++) {
        mp_selector selector = {.source = at % SOURCES, .tag = at / SOURCES};
        int32_t status;
        /* Receives and messages of one number belong together here. */
        while ((status = mp_offload_post(offload, at, &selector)) == MP_AGAIN) hears(offload);
        if (status != MP_OK) give_up("post", status);
        if (at % SOURCES == SOURCES - 1) hears(offload);
    }
    /* Of a source that sends nothing: whether or not the engine came to it, it is withdrawn. */
    mp_selector never = {.source = SOURCES};
    while (mp_offload_post(offload, MESSAGES, &never) == MP_AGAIN) hears(offload);
    if (mp_offload_cancel(offload, MESSAGES, &never) != MP_FOUND) give_up("cancel", MP_INVALID);
    while (count < MESSAGES) {
        /* Here an application would compute. */
        sched_yield();
        hears(offload);
    }
    pthread_join(network, NULL);
    if (mp_offload_posted_len(offload) != 0 || mp_offload_unexpected_len(offload) != 0) return EXIT_FAILURE;
    printf("%s: %d messages, all as it should be%s\n", name, MESSAGES,
           mp_offload_fell_back(offload) == 1 ? ", after falling back" : "");
    return mp_offload_destroy(offload) == MP_OK && mp_wire_destroy(wire) == MP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
