/* A user's engine behind matchpoint's C interface, for `matchpoint check`: two linked lists. It has the
 * required functions; docs/reference/check.md lists the others.
 *
 *     cc -std=c99 -fPIC -shared -I ../../crates/matchpoint-capi/include foreign_list.c -o libforeign_list.so
 *     matchpoint check --library ./libforeign_list.so
 *
 * Each of these options adds a mistake.
 * * -DBUG_DIRECTED_FIRST: a directed receive wins over an older any-source receive, as in libfabric's
 *   util_srx.
 * * -DBUG_LIFO: the unexpected queue is a stack.
 * * -DBUG_STALE_CANCEL: a cancel always finds the receive.
 * * -DBUG_STATUS: a probe returns an invalid status.
 * * -DBUG_CRASH: a cancel of a receive that is not posted crashes.
 * * -DBUG_SHARED: all engines share two queues, as with a shim around an MPI library's global queues. */
#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

#ifndef ABI_VERSION
#define ABI_VERSION MP_ABI_VERSION
#endif

/* A receive, or a message with `ignore` 0. */
struct entry {
    struct entry *next;
    uint64_t id, pair, tag, ignore;
};

struct queue {
    struct entry *first;
    struct entry **end; /* the link for the next entry; read only if there is a first one */
    uint64_t length;
};

/* The object behind an mp_engine pointer. */
struct engine {
    mp_engine head; /* its functions, and the addresses of its lengths */
    struct queue posted, unexpected;
};

#ifdef BUG_SHARED
static struct engine shared; /* emptied when the last engine is destroyed, so that a single engine is right */
static int engines;
#endif

static int matches(const struct entry *receive, uint64_t pair, uint64_t tag) {
    return mp_context(receive->pair) == mp_context(pair) && ((receive->tag ^ tag) & ~receive->ignore) == 0
        && (mp_source(receive->pair) == MP_ANY_SOURCE || receive->pair == pair);
}

static mp_outcome outcome(int64_t status, uint64_t id) {
    mp_outcome outcome = {0, 0};
    outcome.status = status;
    outcome.id = id;
    return outcome;
}

static mp_outcome append(struct queue *queue, struct entry of) {
    struct entry **end = queue->first ? queue->end : &queue->first, *entry = malloc(sizeof *entry);
    if (!entry) return outcome(MP_REFUSED_MEMORY, 0);
    *entry = of;
    *end = entry;
    queue->end = &entry->next;
    queue->length++;
    return outcome(MP_QUEUED, 0);
}

static uint64_t take(struct queue *queue, struct entry **link) {
    struct entry *entry = *link;
    uint64_t id = entry->id;
    *link = entry->next;
    if (!entry->next) queue->end = link;
    queue->length--;
    free(entry);
    return id;
}

/* The link to the receive for a message, or to the end. */
static struct entry **find_posted(struct engine *engine, uint64_t pair, uint64_t tag) {
    struct entry **link;
#ifdef BUG_DIRECTED_FIRST
    for (link = &engine->posted.first; *link; link = &(*link)->next)
        if (mp_source((*link)->pair) != MP_ANY_SOURCE && matches(*link, pair, tag)) return link;
#endif
    for (link = &engine->posted.first; *link; link = &(*link)->next)
        if (matches(*link, pair, tag)) return link;
    return link;
}

/* The link to the message for a receive, or to the end. */
static struct entry **find_unexpected(struct engine *engine, uint64_t pair, uint64_t tag, uint64_t ignore) {
    struct entry receive = {NULL, 0, 0, 0, 0}, **link = &engine->unexpected.first;
    receive.pair = pair;
    receive.tag = tag;
    receive.ignore = ignore;
#ifdef BUG_LIFO
    struct entry **last = NULL;
    for (; *link; link = &(*link)->next)
        if (matches(&receive, (*link)->pair, (*link)->tag)) last = link;
    return last ? last : link;
#else
    while (*link && !matches(&receive, (*link)->pair, (*link)->tag)) link = &(*link)->next;
    return link;
#endif
}

/* Rule 3. */
static mp_outcome post(mp_engine *head, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore) {
    struct engine *engine = (struct engine *)head;
    struct entry entry = {NULL, 0, 0, 0, 0}, **link = find_unexpected(engine, pair, tag, ignore);
    if (*link) return outcome(MP_MATCHED, take(&engine->unexpected, link));
    entry.id = receive;
    entry.pair = pair;
    entry.tag = tag;
    entry.ignore = ignore;
    return append(&engine->posted, entry);
}

/* Rule 2. */
static mp_outcome arrive(mp_engine *head, uint64_t message, uint64_t pair, uint64_t tag) {
    struct engine *engine = (struct engine *)head;
    struct entry entry = {NULL, 0, 0, 0, 0}, **link = find_posted(engine, pair, tag);
    if (*link) return outcome(MP_MATCHED, take(&engine->posted, link));
    entry.id = message;
    entry.pair = pair;
    entry.tag = tag;
    return append(&engine->unexpected, entry);
}

static mp_outcome probe(mp_engine *head, uint64_t pair, uint64_t tag, uint64_t ignore) {
    struct entry **link = find_unexpected((struct engine *)head, pair, tag, ignore);
#ifdef BUG_STATUS
    return *link ? outcome(17, 0) : outcome(MP_NONE, 0);
#endif
    return *link ? outcome(MP_FOUND, (*link)->id) : outcome(MP_NONE, 0);
}

static mp_outcome matched_probe(mp_engine *head, uint64_t pair, uint64_t tag, uint64_t ignore) {
    struct engine *engine = (struct engine *)head;
    struct entry **link = find_unexpected(engine, pair, tag, ignore);
    if (!*link) return outcome(MP_NONE, 0);
    return outcome(MP_FOUND, take(&engine->unexpected, link));
}

/* An engine with a hash table searches by pair, tag and ignore. Here the id suffices. */
static int32_t cancel(mp_engine *head, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore) {
    struct engine *engine = (struct engine *)head;
    struct entry **link = &engine->posted.first;
    (void)pair, (void)tag, (void)ignore;
    while (*link && (*link)->id != receive) link = &(*link)->next;
    if (*link) {
        take(&engine->posted, link);
        return MP_FOUND;
    }
#ifdef BUG_CRASH
    abort();
#elif defined BUG_STALE_CANCEL
    return MP_FOUND;
#else
    return MP_NONE;
#endif
}

static int32_t destroy(mp_engine *head) {
    struct engine *engine = (struct engine *)head;
#ifdef BUG_SHARED
    if (--engines > 0) return MP_OK;
#endif
    while (engine->posted.first) take(&engine->posted, &engine->posted.first);
    while (engine->unexpected.first) take(&engine->unexpected, &engine->unexpected.first);
#ifndef BUG_SHARED
    free(engine);
#endif
    return MP_OK;
}

static const mp_calls CALLS = {
    .size = sizeof(mp_calls),
    .post = post,
    .arrive = arrive,
#ifndef LACKS_PROBE
    .probe = probe,
#endif
    .matched_probe = matched_probe,
    .cancel = cancel,
    .destroy = destroy,
};

uint32_t mp_abi_version(void) { return ABI_VERSION; }

int32_t mp_create(const char *name, uint32_t flags, mp_engine **out, char *error, size_t error_size) {
    struct engine *engine = NULL;
    *out = NULL;
    if (name[0] != '\0' || flags != 0) {
        snprintf(error, error_size, "there is one engine here, without a name");
        return MP_UNKNOWN_NAME;
    }
#ifdef LACKS_PROBE
    (void)probe;
#endif
#ifdef BUG_SHARED
    engines++;
    engine = &shared;
#else
    engine = calloc(1, sizeof *engine);
#endif
    if (!engine) return MP_REFUSED_MEMORY;
    engine->head.calls = &CALLS;
    engine->head.posted = &engine->posted.length;
    engine->head.unexpected = &engine->unexpected.length;
    *out = &engine->head;
    return MP_OK;
}
