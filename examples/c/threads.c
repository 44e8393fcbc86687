/* Several application threads receive concurrently, as with MPI_THREAD_MULTIPLE, while the network's thread
 * delivers batches: one engine, and no lock around it.
 *
 *     cc -std=c99 -pthread threads.c $(pkg-config --cflags --libs matchpoint) -o threads && ./threads sharded:engine=hybrid
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

enum { THREADS = 4, WINDOW = 16, ROUNDS = 50, ROOM = 64, MESSAGES = WINDOW * ROUNDS };

/* A request and its lock. One thread waits for the request; any thread may complete it. */
struct request {
    char buffer[ROOM];
    int completions;
};

static struct application {
    pthread_t thread;
    pthread_mutex_t guard;
    pthread_cond_t completed;
    struct request requests[MESSAGES];
} applications[THREADS];

static char payloads[THREADS * MESSAGES][ROOM];
static mp_engine *engine;

static void give_up(const char *what, int64_t status) {
    fprintf(stderr, "%s: %s\n", what, mp_status_text(status));
    exit(EXIT_FAILURE);
}

/* Ids of receives and messages: a thread, and a number. */
static uint64_t name(uint64_t thread, uint64_t number) { return thread * MESSAGES + number; }

/* The thread that gets a match completes the request. No thread calls the engine with this lock held: the
 * call might wait for a batch with a delivery that waits for the lock. */
static void complete(uint64_t receive, uint64_t message) {
    struct application *to = &applications[receive / MESSAGES];
    struct request *request = &to->requests[receive % MESSAGES];
    memcpy(request->buffer, payloads[message], ROOM);
    pthread_mutex_lock(&to->guard);
    request->completions++;
    pthread_cond_signal(&to->completed);
    pthread_mutex_unlock(&to->guard);
}

static void deliver(void *user, size_t number, uint64_t receive) {
    const mp_message *batch = user;
    complete(receive, batch[number].id);
}

static void post(uint64_t thread, uint64_t number, uint64_t tag) {
    mp_outcome outcome = mp_post_exact(engine, name(thread, number), mp_pair(0, thread), tag);
    if (outcome.status < 0) give_up("post", outcome.status);
    if (outcome.status == MP_MATCHED) complete(name(thread, number), outcome.id);
}

/* An application thread: posts some receives, cancels one, and waits for the others. */
static void *receives(void *user) {
    struct application *own = user;
    uint64_t thread = (uint64_t)(own - applications), first, at;

    for (first = 0; first < MESSAGES; first += WINDOW) {
        for (at = first; at < first + WINDOW; at++) post(thread, at, at);
        /* A receive with an unused tag can always be cancelled. */
        uint64_t spare = name(THREADS, thread), pair = mp_pair(0, thread);
        if (mp_post_exact(engine, spare, pair, MESSAGES).status != MP_QUEUED) give_up("spare", MP_INVALID);
        if (mp_cancel(engine, spare, pair, MESSAGES, 0) != MP_FOUND) give_up("cancel", MP_INVALID);
        pthread_mutex_lock(&own->guard);
        for (at = first; at < first + WINDOW; at++) {
            while (own->requests[at].completions == 0) pthread_cond_wait(&own->completed, &own->guard);
        }
        pthread_mutex_unlock(&own->guard);
    }
    return NULL;
}

/* The network's thread: some messages of each source at a time, in sending order. */
static void *drains(void *user) {
    uint64_t first, thread, at;
    (void)user;
    for (first = 0; first < MESSAGES; first += WINDOW) {
        mp_message batch[THREADS * WINDOW];
        mp_outcome outcomes[THREADS * WINDOW];
        size_t count = 0, done;
        for (at = first; at < first + WINDOW; at++) {
            for (thread = 0; thread < THREADS; thread++) {
                mp_message message = {.id = name(thread, at), .pair = mp_pair(0, thread), .tag = at};
                batch[count++] = message;
            }
        }
        int32_t status = mp_arrive_batch(engine, batch, count, outcomes, &done, deliver, batch);
        if (status != MP_OK) give_up("deliver", status);
    }
    return NULL;
}

int main(int count, char **arguments) {
    const char *kind = count > 1 ? arguments[1] : "sharded:engine=hybrid";
    pthread_t network;
    char error[256];
    int thread, at;

    if (mp_create(kind, MP_ANY_THREAD, &engine, error, sizeof error) != MP_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    for (at = 0; at < THREADS * MESSAGES; at++) snprintf(payloads[at], ROOM, "message %d", at);
    for (thread = 0; thread < THREADS; thread++) {
        struct application *own = &applications[thread];
        if (pthread_mutex_init(&own->guard, NULL) || pthread_cond_init(&own->completed, NULL)) return EXIT_FAILURE;
        if (pthread_create(&own->thread, NULL, receives, own)) return EXIT_FAILURE;
    }
    if (pthread_create(&network, NULL, drains, NULL)) return EXIT_FAILURE;
    for (thread = 0; thread < THREADS; thread++) pthread_join(applications[thread].thread, NULL);
    pthread_join(network, NULL);
    for (at = 0; at < THREADS * MESSAGES; at++) {
        const struct request *request = &applications[at / MESSAGES].requests[at % MESSAGES];
        if (request->completions == 1 && strcmp(request->buffer, payloads[at]) == 0) continue;
        fprintf(stderr, "request %d was completed %d times: %s\n", at, request->completions, request->buffer);
        return EXIT_FAILURE;
    }
    if (mp_posted_len(engine) != 0 || mp_unexpected_len(engine) != 0) return EXIT_FAILURE;
    /* No other thread uses the engine any more. */
    if (mp_destroy(engine) != MP_OK) return EXIT_FAILURE;
    printf("%s: %d threads, %d messages, all as it should be\n", kind, THREADS + 1, THREADS * MESSAGES);
    return EXIT_SUCCESS;
}
