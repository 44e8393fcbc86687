/* Matching in a separate thread. The application posts receives and continues to compute, the network's
 * thread delivers messages, and the application polls completions.
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
    fprintf(stderr, "%s: %s\n", what, mp_status_text(status));
    exit(EXIT_FAILURE);
}

/* The network's thread: one message of each source per round. A full ring has space again after the
 * application polls. */
static void *brings(void *user) {
    uint64_t at;
    (void)user;
    for (at = 0; at < MESSAGES; at++) {
        int32_t status;
        while ((status = mp_wire_arrive(wire, at, mp_pair(0, at % SOURCES), at / SOURCES)) == MP_AGAIN) sched_yield();
        if (status != MP_OK) give_up("arrive", status);
    }
    return NULL;
}

/* Completions: each receive completes once, with the message of its source and tag. */
static char completed[MESSAGES];
static size_t count;

static void hears(mp_engine *engine) {
    mp_completion news[NEWS];
    int64_t told = mp_poll(engine, news, NEWS), at;
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
    mp_engine *engine;
    pthread_t network;
    char error[256];
    uint64_t at;

    if (mp_create_offload(name, &engine, &wire, error, sizeof error) != MP_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    if (pthread_create(&network, NULL, brings, NULL)) return EXIT_FAILURE;
    for (at = 0; at < MESSAGES; at++) {
        const uint64_t pair = mp_pair(0, at % SOURCES);
        int64_t status;
        /* A receive and the message with the same number match here. */
        while ((status = mp_post_exact(engine, at, pair, at / SOURCES).status) == MP_AGAIN) hears(engine);
        if (status != MP_OK) give_up("post", status);
        if (at % SOURCES == SOURCES - 1) hears(engine);
    }
    /* A receive from a source without messages can be cancelled, before or after the engine has processed it.
     */
    const uint64_t never = mp_pair(0, SOURCES);
    while (mp_post_exact(engine, MESSAGES, never, 0).status == MP_AGAIN) hears(engine);
    if (mp_cancel(engine, MESSAGES, never, 0, 0) != MP_FOUND) give_up("cancel", MP_INVALID);
    while (count < MESSAGES) {
        /* Here an application would compute. */
        sched_yield();
        hears(engine);
    }
    pthread_join(network, NULL);
    if (mp_posted_len(engine) != 0 || mp_unexpected_len(engine) != 0) return EXIT_FAILURE;
    printf("%s: %d messages, all as it should be%s\n", name, MESSAGES,
           mp_fell_back(engine) == 1 ? ", after falling back" : "");
    mp_wire_destroy(wire);
    return mp_destroy(engine) == MP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
