/* An engine of one's own behind matchpoint's C interface, so that `matchpoint check` can judge it: two linked lists.
 * These ten functions are the least that a library must have; docs/check.md says what others add.
 *
 *     cc -std=c99 -fPIC -shared -I ../../crates/matchpoint-capi/include foreign_list.c -o libforeign_list.so
 *     matchpoint check --library ./libforeign_list.so
 *
 * With -DBUG_DIRECTED_FIRST it has a mistake that libfabric's util_srx has: a receive that names the source wins over
 * an earlier one from any source. With -DBUG_LIFO the unexpected queue is a stack, with -DBUG_STALE_CANCEL a cancel
 * always says that it found the receive, with -DBUG_STATUS a probe answers what is no status, with -DBUG_CRASH
 * cancelling a receive that is not there crashes, and with -DBUG_SHARED all engines have the same two queues, as those
 * of a shim around an MPI library's global queues would.
 */
#include <stdio.h>
#include <stdlib.h>

#include <matchpoint.h>

#ifndef ABI_VERSION
#define ABI_VERSION MP_ABI_VERSION
#endif

/* A receive, or a message: of a message `ignore` is 0. */
struct entry {
    struct entry *next;
    uint64_t id;
    mp_selector selector;
};

struct queue {
    struct entry *first;
    struct entry **end; /* where the next one is linked; only read if there is a first */
    int64_t length;
};

struct mp_engine {
    struct queue posted;
    struct queue unexpected;
};

#ifdef BUG_SHARED
static mp_engine shared; /* emptied when the last engine ends, so that one at a time is right */
static int engines;
#endif

uint32_t mp_abi_version(void) { return ABI_VERSION; }

int32_t mp_engine_create(const char *name, mp_engine **engine, char *error, size_t error_size) {
    if (name[0] != '\0') {
        snprintf(error, error_size, "there is one engine here, without a name");
        return MP_INVALID;
    }
#ifdef BUG_SHARED
    engines++;
    *engine = &shared;
#else
    *engine = calloc(1, sizeof **engine);
#endif
    return *engine ? MP_OK : MP_REFUSED_MEMORY;
}

/* Rule 1. */
static int matches(const mp_selector *asked, const mp_selector *envelope) {
    return asked->context == envelope->context && ((asked->tag ^ envelope->tag) & ~asked->ignore) == 0
        && (asked->source == MP_ANY_SOURCE || asked->source == envelope->source);
}

static int32_t append(struct queue *queue, uint64_t id, const mp_selector *selector) {
    struct entry **end = queue->first ? queue->end : &queue->first, *entry = malloc(sizeof *entry);
    if (!entry) return MP_REFUSED_MEMORY;
    entry->next = NULL;
    entry->id = id;
    entry->selector = *selector;
    *end = entry;
    queue->end = &entry->next;
    queue->length++;
    return MP_QUEUED;
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

/* The link to the receive that this message is for, or to the end. */
static struct entry **find_posted(mp_engine *engine, const mp_selector *envelope) {
    struct entry **link;
#ifdef BUG_DIRECTED_FIRST
    for (link = &engine->posted.first; *link; link = &(*link)->next)
        if ((*link)->selector.source != MP_ANY_SOURCE && matches(&(*link)->selector, envelope)) return link;
#endif
    for (link = &engine->posted.first; *link; link = &(*link)->next)
        if (matches(&(*link)->selector, envelope)) return link;
    return link;
}

/* The link to the message that this receive is for, or to the end. */
static struct entry **find_unexpected(mp_engine *engine, const mp_selector *asked) {
    struct entry **link = &engine->unexpected.first;
#ifdef BUG_LIFO
    struct entry **last = NULL;
    for (; *link; link = &(*link)->next)
        if (matches(asked, &(*link)->selector)) last = link;
    return last ? last : link;
#else
    while (*link && !matches(asked, &(*link)->selector)) link = &(*link)->next;
    return link;
#endif
}

/* Rule 3. */
int32_t mp_engine_post(mp_engine *engine, uint64_t receive, const mp_selector *selector, uint64_t *message) {
    struct entry **link = find_unexpected(engine, selector);
    if (!*link) return append(&engine->posted, receive, selector);
    *message = take(&engine->unexpected, link);
    return MP_MATCHED;
}

/* Rule 2. */
int32_t mp_engine_arrive(mp_engine *engine, uint64_t message, const mp_envelope *envelope, uint64_t *receive) {
    mp_selector exactly = {0, 0, 0, 0};
    struct entry **link;
    exactly.source = envelope->source;
    exactly.tag = envelope->tag;
    exactly.context = envelope->context;
    link = find_posted(engine, &exactly);
    if (!*link) return append(&engine->unexpected, message, &exactly);
    *receive = take(&engine->posted, link);
    return MP_MATCHED;
}

#ifndef LACKS_PROBE
int32_t mp_engine_probe(mp_engine *engine, const mp_selector *selector, uint64_t *message) {
    struct entry **link = find_unexpected(engine, selector);
#ifdef BUG_STATUS
    return *link ? 17 : MP_NONE;
#endif
    if (!*link) return MP_NONE;
    *message = (*link)->id;
    return MP_FOUND;
}
#endif

int32_t mp_engine_matched_probe(mp_engine *engine, const mp_selector *selector, uint64_t *message) {
    struct entry **link = find_unexpected(engine, selector);
    if (!*link) return MP_NONE;
    *message = take(&engine->unexpected, link);
    return MP_FOUND;
}

/* The selector is what the receive was posted with: an engine with a hash table looks there. The id is enough here. */
int32_t mp_engine_cancel(mp_engine *engine, uint64_t receive, const mp_selector *selector) {
    struct entry **link = &engine->posted.first;
    (void)selector;
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

int64_t mp_engine_posted_len(const mp_engine *engine) { return engine->posted.length; }

int64_t mp_engine_unexpected_len(const mp_engine *engine) { return engine->unexpected.length; }

int32_t mp_engine_destroy(mp_engine *engine) {
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
