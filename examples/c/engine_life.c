/* The complete life of an engine in an MPI library. Ids are the addresses of requests and packets.
 *
 *     cc -std=c99 engine_life.c $(pkg-config --cflags --libs matchpoint) -o engine_life && ./engine_life */
#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

struct request { uint64_t pair, tag, ignore; int value, is_complete; };
struct packet { uint64_t pair, tag; int value; };

static uint64_t id_of(const void *object) { return (uint64_t)(uintptr_t)object; }

static void deliver(struct request *request, const struct packet *packet) {
    request->value = packet->value;
    request->is_complete = 1;
}

static void check(int is_right, const char *what) {
    if (!is_right) fprintf(stderr, "engine_life: %s\n", what), exit(EXIT_FAILURE);
}

/* MPI_Irecv */
static void receive(mp_engine *engine, struct request *request) {
    mp_outcome found = mp_post(engine, id_of(request), request->pair, request->tag, request->ignore);
    check(found.status >= 0, mp_status_text(found.status));
    if (found.status == MP_MATCHED) deliver(request, (struct packet *)(uintptr_t)found.id);
}

/* A packet arrives from the network. */
static void arrive(mp_engine *engine, const struct packet *packet) {
    mp_outcome found = mp_arrive(engine, id_of(packet), packet->pair, packet->tag);
    check(found.status >= 0, mp_status_text(found.status));
    if (found.status == MP_MATCHED) deliver((struct request *)(uintptr_t)found.id, packet);
}

int main(void) {
    struct request expected = {mp_pair(0, 3), 7, 0, 0, 0}, late = {mp_pair(0, MP_ANY_SOURCE), 0, MP_ANY_TAG, 0, 0};
    struct packet first = {mp_pair(0, 3), 7, 10}, second = {mp_pair(0, 4), 8, 20};
    mp_engine *engine;
    char error[256];

    if (mp_create(getenv("ENGINE"), 0, &engine, error, sizeof error) != MP_OK) check(0, error);
    receive(engine, &expected); /* posted */
    arrive(engine, &first);     /* takes the posted receive */
    check(expected.is_complete && expected.value == 10, "the receive has its message");
    arrive(engine, &second); /* unexpected */
    check(mp_probe(engine, late.pair, late.tag, late.ignore).status == MP_FOUND, "MPI_Iprobe finds the message");
    receive(engine, &late); /* takes the unexpected message */
    check(late.is_complete && late.value == 20, "the late receive has its message");
    receive(engine, &expected); /* posted again */
    check(mp_cancel(engine, id_of(&expected), expected.pair, expected.tag, 0) == MP_FOUND, "MPI_Cancel finds it");
    check(mp_close(engine, 0, NULL, NULL) == MP_OK, "the context ends");
    check(mp_posted_len(engine) == 0 && mp_unexpected_len(engine) == 0, "both queues are empty");
    check(mp_destroy(engine) == MP_OK, "MPI_Finalize");
    return EXIT_SUCCESS;
}
