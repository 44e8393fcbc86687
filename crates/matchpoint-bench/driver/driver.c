/* Runs the scripts of the workloads as an MPI library calls an engine: with a pool of requests and an engine
 * of libmatchpoint behind function pointers. Stand-ins for MPI libraries take the same calls.
 * `src/through_c/player.rs` has the declarations in Rust. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <matchpoint.h>

#include "requests.h"

#include "matcher.h"

#include "engine.h"
#include "list.h"
#include "rank_array.h"
#include "ucx.h"

/* Values of `struct phase`. */
enum { PHASE_POSTS, PHASE_ARRIVALS, PHASE_PAIRS };
enum { FORM_WORLD, FORM_CONTEXTS, FORM_MASKS };

#define ANY UINT32_MAX /* in a key */

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Added to the sum of results instead of a number. */
#define ANSWER_FULL (UINT64_C(1) << 48)
#define ANSWER_REFUSED (UINT64_C(1) << 49)

struct key {
    uint32_t source, tag;
};

struct phase {
    const struct key *keys;
    size_t count;
    uint32_t first_number;
    uint32_t kind; /* PHASE_... */
    uint32_t form; /* FORM_... */
};

struct player {
    const struct matcher *matcher;
    void *state;
    struct pool pool;
};

struct words {
    uint64_t pair, tag, ignore;
};

static inline uint64_t masked_tag(struct key key)
{
    return (uint64_t)key.source << 44 | (uint64_t)key.tag << 32;
}

/* Creates the words of a receive, as MPI_Irecv does from its arguments. */
static inline struct words words_of_receive(uint32_t form, struct key key)
{
    if (form == FORM_CONTEXTS)
        return (struct words){mp_pair(key.source + 1, 0), key.tag, 0};
    if (form == FORM_MASKS)
        return (struct words){mp_pair(0, 0), masked_tag(key), (uint64_t)key.source + 1};
    uint64_t pair = mp_pair(0, key.source == ANY ? MP_ANY_SOURCE : key.source);
    return key.tag == ANY ? (struct words){pair, 0, MP_ANY_TAG} : (struct words){pair, key.tag, 0};
}

static inline struct words words_of_message(uint32_t form, struct key key)
{
    if (form == FORM_CONTEXTS)
        return (struct words){mp_pair(key.source + 1, 0), key.tag, 0};
    if (form == FORM_MASKS)
        return (struct words){mp_pair(0, 0), masked_tag(key) | ((uint64_t)key.source + 1), 0};
    return (struct words){mp_pair(0, key.source), key.tag, 0};
}

/* Returns both requests of a match to the pool. The result is the number of the other request plus 1, or 0 if
 * the request is queued. */
static inline uint64_t complete_call(struct player *player, struct request *request, mp_outcome outcome)
{
    if (outcome.status == MP_QUEUED)
        return 0;
    if (outcome.status != MP_MATCHED) {
        return_request(&player->pool, request);
        return outcome.status == MP_REFUSED_FULL ? ANSWER_FULL : ANSWER_REFUSED;
    }
    struct request *matched = (struct request *)(uintptr_t)outcome.id;
    uint64_t answer = (uint64_t)matched->number + 1;
    return_request(&player->pool, matched);
    return_request(&player->pool, request);
    return answer;
}

static ALWAYS_INLINE uint64_t post_receive(struct player *player, const struct phase *phase, size_t at)
{
    struct words words = words_of_receive(phase->form, phase->keys[at]);
    struct request *receive = take_request(&player->pool, phase->first_number + (uint32_t)at);
    return complete_call(player, receive,
                         player->matcher->post(player->state, receive, words.pair, words.tag, words.ignore));
}

static ALWAYS_INLINE uint64_t deliver_message(struct player *player, const struct phase *phase, size_t at)
{
    struct words words = words_of_message(phase->form, phase->keys[at]);
    struct request *message = take_request(&player->pool, phase->first_number + (uint32_t)at);
    return complete_call(player, message, player->matcher->arrive(player->state, message, words.pair, words.tag));
}

/* Runs a phase. Each caller passes a constant kind, so the loop does not test it. */
static ALWAYS_INLINE uint64_t play_phase_of_kind(struct player *player, const struct phase *phase, uint32_t kind)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < phase->count; at++) {
        if (kind != PHASE_ARRIVALS)
            sum += post_receive(player, phase, at);
        if (kind != PHASE_POSTS)
            sum += deliver_message(player, phase, at);
    }
    return sum;
}

static uint64_t play_phase(struct player *player, const struct phase *phase)
{
    if (phase->kind == PHASE_POSTS)
        return play_phase_of_kind(player, phase, PHASE_POSTS);
    if (phase->kind == PHASE_ARRIVALS)
        return play_phase_of_kind(player, phase, PHASE_ARRIVALS);
    return play_phase_of_kind(player, phase, PHASE_PAIRS);
}

static const struct matcher *const stand_ins[] = {&list_matcher, &rank_array_matcher, &ucx_matcher};

enum { STAND_INS = sizeof stand_ins / sizeof *stand_ins };

static const struct matcher *find_stand_in(const char *name)
{
    for (size_t at = 0; at < STAND_INS; at++)
        if (strcmp(stand_ins[at]->name, name) == 0)
            return stand_ins[at];
    return NULL;
}

/* Returns NULL after the last stand-in. */
const char *matchpoint_driver_stand_in(size_t at)
{
    return at < STAND_INS ? stand_ins[at]->name : NULL;
}

void matchpoint_driver_destroy(struct player *player)
{
    if (player->state != NULL)
        player->matcher->destroy(player->state);
    destroy_pool(&player->pool);
    free(player);
}

static bool create_state(struct player *player, const char *name, char *error, size_t error_size)
{
    const struct matcher *stand_in = find_stand_in(name);
    player->matcher = stand_in == NULL ? &engine_matcher : stand_in;
    if (stand_in != NULL)
        return (player->state = stand_in->create()) != NULL;
    mp_engine *engine;
    if (mp_create(name, 0, &engine, error, error_size) != MP_OK)
        return false;
    player->state = engine;
    return true;
}

/* Creates a player for an engine or a stand-in, with `requests` requests. Returns NULL and a reason if that
 * fails. */
struct player *matchpoint_driver_create(const char *name, size_t requests, char *error, size_t error_size)
{
    struct player *player = calloc(1, sizeof *player);
    snprintf(error, error_size, "no memory");
    if (player == NULL)
        return NULL;
    if (create_pool(&player->pool, requests) && create_state(player, name, error, error_size))
        return player;
    matchpoint_driver_destroy(player);
    return NULL;
}

/* Runs one call of a phase and returns its result. */
uint64_t matchpoint_driver_play_call(struct player *player, const struct phase *phase, size_t call)
{
    if (phase->kind == PHASE_POSTS)
        return post_receive(player, phase, call);
    if (phase->kind == PHASE_ARRIVALS)
        return deliver_message(player, phase, call);
    return call % 2 == 0 ? post_receive(player, phase, call / 2) : deliver_message(player, phase, call / 2);
}

/* Runs all phases `rounds` times and returns the sum of the results. */
uint64_t matchpoint_driver_play_rounds(struct player *player, const struct phase *phases, size_t count, size_t rounds)
{
    uint64_t sum = 0;
    for (size_t round = 0; round < rounds; round++)
        for (size_t at = 0; at < count; at++)
            sum += play_phase(player, &phases[at]);
    return sum;
}
