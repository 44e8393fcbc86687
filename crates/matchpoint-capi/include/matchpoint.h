/* libmatchpoint: message matching for MPI and network libraries. The manual is docs/reference/c.md.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * 1. A message matches a receive if their contexts are equal, and if source and tag are each equal or a wildcard in the receive.
 * 2. An arriving message takes the oldest posted receive that it matches. Otherwise it joins the unexpected queue.
 * 3. A posted receive takes the oldest unexpected message that it matches. Otherwise it joins the posted queue.
 *
 * Arguments. The caller chooses ids: any 64-bit numbers but 0x9E3779B97F4A7C15, such as addresses of requests. No two posted
 * receives have the same id, and no two unexpected messages. `pair` is context and source, made by mp_pair(). `ignore` has a 1
 * for each bit of the tag that does not count. `engine` is not NULL. Pointers for results are not NULL, unless permitted.
 *
 * Results. A negative status: the call had no effect, except mp_arrive_batch(). Every function may return MP_BUSY and MP_INVALID.
 *
 * Threads. One thread at a time calls an engine, unless mp_create() created it with MP_ANY_THREAD. Different engines are independent.
 *
 * Callbacks run in the calling thread before the call returns, unless the comment of a function differs. A callback returns
 * normally and does not call its engine: such a call returns MP_BUSY. `user` is the pointer that the caller passed.
 *
 * Memory. Once queues have had their maximum length, mp_post(), mp_arrive() and probes do not allocate. The engine hybrid
 * may allocate when the use of wildcards changes, when a table grows, or after queues were short for a long time. Without memory,
 * mp_create(), mp_create_offload() and mp_statistics() end the process. mp_close() and mp_fail_source() do so too for engines
 * with MP_ANY_THREAD or from mp_create_offload(). An error inside the library (a Rust panic) ends the process.
 *
 * Versions. A program works with each later library of the same MP_ABI_VERSION. mp_calls and structs with a `size` argument grow
 * at their end: test calls->size before a call that a later version added. Version 0 is the interface before its first release,
 * and may change.
 */

#ifndef MATCHPOINT_H
#define MATCHPOINT_H

#include <stddef.h>
#include <stdint.h>

#define MP_ABI_VERSION 0

/* Statuses. */
#define MP_OK 0              /* done; there is no id */
#define MP_QUEUED 0          /* the entry is queued */
#define MP_NONE 0            /* there is no such entry */
#define MP_MATCHED 1         /* the entry matched the entry `id` */
#define MP_FOUND 1           /* there is such an entry */
#define MP_NAMED 2           /* mp_readdress: the message has its source, and is queued */
#define MP_REFUSED_HINT (-1) /* the call breaks a hint of its context */
#define MP_REFUSED_FULL (-2) /* a table of fixed size is full: use another engine */
#define MP_REFUSED_MEMORY (-3)
#define MP_INVALID (-4)      /* an argument is invalid, or the engine does not have this function */
#define MP_BUSY (-5)         /* a callback of the engine called it */
#define MP_UNKNOWN_NAME (-6) /* mp_create: no such engine, parameter or value on this machine */
#define MP_AGAIN (-7)        /* a ring is full: call mp_poll, then try again */

/* Flags of mp_create. */
#define MP_COUNT 1      /* the engine counts compared entries (mp_attempts), and is slower */
#define MP_ANY_THREAD 2 /* any thread may call the engine at any time */

/* Wildcards and unknown values. */
#define MP_ANY_SOURCE UINT32_MAX     /* source of an any-source receive */
#define MP_UNKNOWN_SOURCE UINT32_MAX /* source of a message that gets its source from mp_readdress() */
#define MP_ANY_TAG UINT64_MAX        /* `ignore` of a receive with any tag */

/* Hints: promises about a context (MPI-4.1 section 7.4.4). */
#define MP_HINT_NO_ANY_SOURCE 1    /* no any-source receive (mpi_assert_no_any_source) */
#define MP_HINT_NO_ANY_TAG 2       /* no ignored bits (mpi_assert_no_any_tag) */
#define MP_HINT_EXACT_LENGTH 4     /* mpi_assert_exact_length; does not affect matching */
#define MP_HINT_ALLOW_OVERTAKING 8 /* matches in any order (mpi_assert_allow_overtaking) */
#define MP_HINT_NO_UNEXPECTED 16   /* each receive is posted before its message arrives; others are refused */

/* Orders in which an engine takes entries. */
#define MP_ORDER_TOTAL 0      /* the oldest entry */
#define MP_ORDER_PER_SOURCE 1 /* the oldest receive; the oldest message of its source (MPI's minimum, MPI-4.1 section 3.5) */
#define MP_ORDER_NONE 2       /* any entry that matches */

/* Queues. */
#define MP_QUEUE_POSTED 0
#define MP_QUEUE_UNEXPECTED 1

/* Drained entries. */
#define MP_DRAINED_RECEIVE 0 /* a receive, no longer posted */
#define MP_DRAINED_MESSAGE 1 /* a message, no longer queued */
#define MP_DRAINED_PENDING 2 /* an any-source receive, still posted (MPI_ERR_PROC_FAILED_PENDING) */

/* Completions of an offloaded engine. */
#define MP_COMPLETION_MATCHED 0
#define MP_COMPLETION_RECEIVE_REFUSED 1
#define MP_COMPLETION_MESSAGE_REFUSED 2

/* The outcome of a call, in two registers. */
typedef struct mp_outcome {
  uint64_t id;    /* the receive or message that was matched or found */
  int64_t status; /* MP_... */
} mp_outcome;

/* A message of a batch. */
typedef struct mp_message {
  uint64_t id;
  uint64_t pair;
  uint64_t tag;
} mp_message;

/* An entry of a queue. */
typedef struct mp_entry {
  uint64_t id;
  uint64_t pair;
  uint64_t tag;
  uint64_t ignore; /* 0 for a message */
  int32_t queue;   /* MP_QUEUE_... */
  uint32_t reserved;
} mp_entry;

/* A completion of an offloaded engine. */
typedef struct mp_completion {
  uint64_t receive; /* 0 if a message was refused */
  uint64_t message; /* 0 if a receive was refused */
  int32_t kind;     /* MP_COMPLETION_... */
  int32_t status;   /* MP_MATCHED, or MP_REFUSED_... */
} mp_completion;

/* Bytes that an engine has allocated. */
typedef struct mp_footprint {
  uint64_t fixed_bytes;   /* with empty queues */
  uint64_t peers_bytes;   /* for peers */
  uint64_t entries_bytes; /* for entries, used or not */
  uint64_t peak_bytes;    /* the largest sum so far */
} mp_footprint;

/* Entries compared by posts, arrivals and probes: MPICH's posted_recvq_match_attempts and unexpected_recvq_match_attempts. */
typedef struct mp_attempts {
  uint64_t posted;
  uint64_t unexpected;
} mp_attempts;

/* An engine of the library. The texts are valid as long as the library is loaded. */
typedef struct mp_engine_info {
  const char *name;
  const char *summary;
  size_t parameters;
} mp_engine_info;

/* A parameter of an engine. */
typedef struct mp_parameter_info {
  const char *key;
  const char *default_value;
  const char *meaning; /* with its unit */
} mp_parameter_info;

/* Callbacks: for a drained entry, a matched message of a batch, the hints of a context, an entry, a statistic. */
typedef void (*mp_drain_fn)(void *user, int32_t kind, uint64_t id);
typedef void (*mp_deliver_fn)(void *user, size_t number, uint64_t receive);
typedef void (*mp_hints_fn)(void *user, uint32_t context, uint32_t hints);
typedef void (*mp_visit_fn)(void *user, const struct mp_entry *entry);
typedef void (*mp_statistic_fn)(void *user, const char *name, double value);

/* An engine: both queues of a process. The library writes the fields. */
typedef struct mp_engine {
  const struct mp_calls *calls;
  const uint64_t *posted;     /* the number of posted receives; NULL with MP_ANY_THREAD and mp_create_offload() */
  const uint64_t *unexpected; /* the number of unexpected messages, NULL as `posted` */
} mp_engine;

/* The side of an offloaded engine that receives messages. */
typedef struct mp_wire mp_wire;

/* The functions of an engine, for the inline functions below. `calls` changes while a callback runs. A program whose callbacks do not
 * call the engine may copy the functions after mp_create(). A function that an engine of another library lacks is NULL: compare
 * before the call. */
typedef struct mp_calls {
  size_t size; /* sizeof(mp_calls) */
  mp_outcome (*post_exact)(struct mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag);
  mp_outcome (*post)(struct mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore);
  mp_outcome (*arrive)(struct mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag);
  mp_outcome (*probe)(struct mp_engine *engine, uint64_t pair, uint64_t tag, uint64_t ignore);
  mp_outcome (*matched_probe)(struct mp_engine *engine, uint64_t pair, uint64_t tag, uint64_t ignore);
  mp_outcome (*take_receive)(struct mp_engine *engine, uint64_t pair, uint64_t tag);
  mp_outcome (*queue_message)(struct mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag, uint64_t place);
  mp_outcome (*queue_receive)(struct mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore,
                              uint64_t place);
  int32_t (*arrive_batch)(struct mp_engine *engine, const struct mp_message *messages, size_t count,
                          struct mp_outcome *outcomes, size_t *done, mp_deliver_fn deliver, void *user);
  int32_t (*cancel)(struct mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore);
  int32_t (*retract)(struct mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag);
  mp_outcome (*readdress)(struct mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag, uint32_t source);
  int32_t (*set_hints)(struct mp_engine *engine, uint32_t context, uint32_t hints);
  int32_t (*hints)(struct mp_engine *engine, mp_hints_fn each, void *user);
  int32_t (*close)(struct mp_engine *engine, uint32_t context, mp_drain_fn each, void *user);
  int32_t (*fail_source)(struct mp_engine *engine, uint32_t context, uint32_t source, mp_drain_fn each, void *user);
  int32_t (*visit)(struct mp_engine *engine, int32_t queue, mp_visit_fn each, void *user);
  int64_t (*length)(struct mp_engine *engine, int32_t queue);
  int32_t (*order)(struct mp_engine *engine);
  int32_t (*reserve)(struct mp_engine *engine, size_t entries);
  int32_t (*footprint)(struct mp_engine *engine, struct mp_footprint *footprint, size_t size);
  int32_t (*attempts)(struct mp_engine *engine, struct mp_attempts *attempts, size_t size);
  int32_t (*statistics)(struct mp_engine *engine, mp_statistic_fn each, void *user);
  int64_t (*poll)(struct mp_engine *engine, struct mp_completion *completions, size_t room);
  int32_t (*fell_back)(struct mp_engine *engine);
  int32_t (*destroy)(struct mp_engine *engine);
} mp_calls;

#ifdef __cplusplus
extern "C" {
#endif

/* --- The library. Any thread may call these functions. --- */

/* The MP_ABI_VERSION of the library. A program that loads the library at run time compares this number first. */
uint32_t mp_abi_version(void);

/* The release of the library, such as "0.1.0". */
const char *mp_version(void);

/* The text of a status, never NULL. */
const char *mp_status_text(int64_t status);

/* The number of engines. */
size_t mp_engine_count(void);

/* Describes engine `index`, from 0. `size` is sizeof(mp_engine_info).
 * Returns MP_OK, or MP_INVALID if there is no such engine. */
int32_t mp_engine_describe(size_t index, struct mp_engine_info *info, size_t size);

/* Describes a parameter of engine `index`, both from 0. `size` is sizeof(mp_parameter_info).
 * Returns MP_OK, or MP_INVALID if there is no such parameter. */
int32_t mp_engine_describe_parameter(size_t index, size_t parameter, struct mp_parameter_info *info, size_t size);

/* --- Creation and destruction. --- */

/* Creates the engine `name`, written name:key=value,... ("list", "bins:n=64"). NULL and "" are "hybrid". With MP_ANY_THREAD:
 * "locked:engine=NAME" or "sharded:shards=16,engine=NAME"; NULL and "" are "locked:engine=hybrid".
 * `flags` is 0, MP_COUNT or MP_ANY_THREAD. `error` has room for `error_size` bytes; NULL and 0 are allowed.
 * Returns MP_OK and writes `*engine`. With MP_UNKNOWN_NAME and MP_INVALID, `*engine` is NULL, and `error` has a
 * hint. Without memory the process ends. */
int32_t mp_create(const char *name, uint32_t flags, struct mp_engine **engine, char *error, size_t error_size);

/* Destroys an engine and its entries. NULL is allowed.
 * Returns MP_OK, or MP_BUSY in a callback of the engine. */
static inline int32_t mp_destroy(mp_engine *engine) {
  return engine ? engine->calls->destroy(engine) : MP_OK;
}

/* --- Matching. Times: docs/reference/engines.md. --- */

/* Context and source in one word. */
static inline uint64_t mp_pair(uint32_t context, uint32_t source) {
  return (uint64_t)context << 32 | source;
}

/* The context of a pair. */
static inline uint32_t mp_context(uint64_t pair) {
  return (uint32_t)(pair >> 32);
}

/* The source of a pair. */
static inline uint32_t mp_source(uint64_t pair) {
  return (uint32_t)pair;
}

/* Posts a receive from one source with one tag. The source is not MP_ANY_SOURCE, which mp_post() takes.
 * Returns MP_MATCHED (`id` is the message), MP_QUEUED, MP_REFUSED_FULL or MP_REFUSED_MEMORY. */
static inline mp_outcome mp_post_exact(mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag) {
  return engine->calls->post_exact(engine, receive, pair, tag);
}

/* Posts a receive. The source may be MP_ANY_SOURCE.
 * Returns as mp_post_exact, and MP_REFUSED_HINT if a wildcard breaks a hint. */
static inline mp_outcome mp_post(mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore) {
  return engine->calls->post(engine, receive, pair, tag, ignore);
}

/* A message arrives. The source may be MP_UNKNOWN_SOURCE. The context need not be known to the engine.
 * Returns MP_MATCHED (`id` is the receive), MP_QUEUED, MP_REFUSED_FULL, MP_REFUSED_MEMORY, or MP_REFUSED_HINT if the message would
 * be queued under MP_HINT_NO_UNEXPECTED. */
static inline mp_outcome mp_arrive(mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag) {
  return engine->calls->arrive(engine, message, pair, tag);
}

/* Finds the message that a receive with these arguments would take (MPI_Iprobe).
 * Returns MP_FOUND (`id` is the message) or MP_NONE, also if a wildcard breaks a hint. */
static inline mp_outcome mp_probe(mp_engine *engine, uint64_t pair, uint64_t tag, uint64_t ignore) {
  return engine->calls->probe(engine, pair, tag, ignore);
}

/* Takes the message that a receive with these arguments would take (MPI_Improbe).
 * Returns as mp_probe. With MP_NONE, `id` is the place for mp_queue_receive. */
static inline mp_outcome mp_matched_probe(mp_engine *engine, uint64_t pair, uint64_t tag, uint64_t ignore) {
  return engine->calls->matched_probe(engine, pair, tag, ignore);
}

/* --- Search first, queue later: for libraries that create a request or a descriptor only after a search miss. Engines with
 * MP_ANY_THREAD or from mp_create_offload return MP_INVALID.
 *
 * `place` is 0, or what the search for the same pair and tag returned. A place saves a hash, and stays valid while other entries are
 * queued and taken. With the place of another pair or tag, the entry is lost. --- */

/* Takes the receive that a message with these arguments would take. Queues nothing.
 * Returns MP_FOUND (`id` is the receive), or MP_NONE (`id` is the place for mp_queue_message). */
static inline mp_outcome mp_take_receive(mp_engine *engine, uint64_t pair, uint64_t tag) {
  return engine->calls->take_receive(engine, pair, tag);
}

/* Queues a message after mp_take_receive returned MP_NONE. The message matches a receive that was posted between both calls.
 * Returns as mp_arrive: MP_QUEUED, or MP_MATCHED only if a receive was posted between both calls. */
static inline mp_outcome mp_queue_message(mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag, uint64_t place) {
  return engine->calls->queue_message(engine, message, pair, tag, place);
}

/* Queues a receive after mp_matched_probe returned MP_NONE. The receive matches a message that arrived between both calls.
 * Returns as mp_post: MP_QUEUED, or MP_MATCHED only if a message arrived between both calls. */
static inline mp_outcome mp_queue_receive(mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore,
                                          uint64_t place) {
  return engine->calls->queue_receive(engine, receive, pair, tag, ignore, place);
}

/* Reserves memory for `entries` more entries, in any mix of both queues. Until that number is queued or readdressed, no post, arrival,
 * queue call or mp_readdress returns MP_REFUSED_MEMORY. The memory remains reserved until the next call of mp_reserve. 0 ends the
 * reservation. O(entries reserved and queued). Engines other than "hybrid" and "list" cannot reserve memory.
 * Returns MP_OK or MP_REFUSED_MEMORY; with MP_ANY_THREAD MP_INVALID. */
static inline int32_t mp_reserve(mp_engine *engine, size_t entries) {
  return engine->calls->reserve(engine, entries);
}

/* --- Batches. --- */

/* Messages arrive in turn. `outcomes` has room for `count`. `*done` becomes the number of messages before the first refused one. These
 * have arrived, whatever the call returns. `*done` is not written with MP_INVALID and MP_BUSY.
 * `deliver` may be NULL. The engine calls `deliver` once per matched message, with the number of the message in the batch and the
 * receive. The engine "optimistic_parallel" calls `deliver` concurrently in several threads, in any order. `deliver` must not fork or
 * end its thread.
 * Returns MP_OK, or the refusal of message `*done` as mp_arrive. The messages match as by mp_arrive, one after the other. */
static inline int32_t mp_arrive_batch(mp_engine *engine, const mp_message *messages, size_t count, mp_outcome *outcomes,
                                      size_t *done, mp_deliver_fn deliver, void *user) {
  return engine->calls->arrive_batch(engine, messages, count, outcomes, done, deliver, user);
}

/* --- Withdrawals. `pair`, `tag` and `ignore` are those with which the entry is queued. --- */

/* Withdraws a posted receive (MPI_Cancel). O(1) for "hybrid", except in the middle of many duplicates and from the ninth
 * wildcard class on. For other engines, see their pages.
 * Returns MP_FOUND if the receive was posted, else MP_NONE. */
static inline int32_t mp_cancel(mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag, uint64_t ignore) {
  return engine->calls->cancel(engine, receive, pair, tag, ignore);
}

/* Withdraws an unexpected message.
 * Returns MP_FOUND if the message was queued, else MP_NONE. */
static inline int32_t mp_retract(mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag) {
  return engine->calls->retract(engine, message, pair, tag);
}

/* Sets the source of a message that arrived with MP_UNKNOWN_SOURCE. The message takes the oldest posted receive that it matches.
 * Set the sources of older messages first. Before, such a message matches only any-source receives.
 * Returns MP_MATCHED (`id` is the receive); MP_NAMED: the message stays queued at its age; MP_NONE: no such message with unknown
 * source is queued; MP_REFUSED_MEMORY or MP_REFUSED_FULL: the message stays queued with unknown source. */
static inline mp_outcome mp_readdress(mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag, uint32_t source) {
  return engine->calls->readdress(engine, message, pair, tag, source);
}

/* --- Contexts. --- */

/* Sets the hints of a context to a sum of MP_HINT_... O(entries of all contexts).
 * Returns MP_OK, MP_REFUSED_HINT if a queued entry breaks a hint, or MP_REFUSED_MEMORY. */
static inline int32_t mp_set_hints(mp_engine *engine, uint32_t context, uint32_t hints) {
  return engine->calls->set_hints(engine, context, hints);
}

/* Calls `each` with the hints of each context with hints, in the order of contexts. Not with MP_ANY_THREAD.
 * Returns MP_OK. */
static inline int32_t mp_hints(mp_engine *engine, mp_hints_fn each, void *user) {
  return engine->calls->hints(engine, each, user);
}

/* Removes all entries and hints of a context. The context may then be used again. In MPI_Comm_free, call it after all pending
 * operations have completed. Then calls `each`, unless NULL, with the receives, then the messages, oldest first.
 * O(slots + entries log entries of all contexts).
 * Returns MP_OK, or MP_REFUSED_MEMORY. */
static inline int32_t mp_close(mp_engine *engine, uint32_t context, mp_drain_fn each, void *user) {
  return engine->calls->close(engine, context, each, user);
}

/* A process failed (ULFM): removes the receives from this source, and keeps its messages.
 * Then calls `each`, unless NULL, with these receives, then with the any-source receives, which remain posted.
 * Returns MP_OK, or MP_REFUSED_MEMORY. */
static inline int32_t mp_fail_source(mp_engine *engine, uint32_t context, uint32_t source, mp_drain_fn each, void *user) {
  return engine->calls->fail_source(engine, context, source, each, user);
}

/* --- State of an engine. --- */

/* The number of posted receives (MPI_T: posted_recvq_length). */
static inline int64_t mp_posted_len(mp_engine *engine) {
  return engine->posted ? (int64_t)*engine->posted : engine->calls->length(engine, MP_QUEUE_POSTED);
}

/* The number of unexpected messages (MPI_T: unexpected_recvq_length). */
static inline int64_t mp_unexpected_len(mp_engine *engine) {
  return engine->unexpected ? (int64_t)*engine->unexpected : engine->calls->length(engine, MP_QUEUE_UNEXPECTED);
}

/* Calls `each` with the entries of a queue, oldest first. O(entries log entries).
 * Returns MP_OK. */
static inline int32_t mp_visit(mp_engine *engine, int32_t queue, mp_visit_fn each, void *user) {
  return engine->calls->visit(engine, queue, each, user);
}

/* Returns the MP_ORDER_... that the engine keeps. Not with MP_ANY_THREAD. */
static inline int32_t mp_order(mp_engine *engine) {
  return engine->calls->order(engine);
}

/* Writes the bytes that the engine has allocated. `size` is sizeof(mp_footprint).
 * Returns MP_OK. */
static inline int32_t mp_footprint_of(mp_engine *engine, mp_footprint *footprint, size_t size) {
  return engine->calls->footprint(engine, footprint, size);
}

/* Writes the attempts of an engine with MP_COUNT, otherwise zeros. `size` is sizeof(mp_attempts).
 * Returns MP_OK. */
static inline int32_t mp_attempts_of(mp_engine *engine, mp_attempts *attempts, size_t size) {
  return engine->calls->attempts(engine, attempts, size);
}

/* Calls `each` with statistics specific to the engine. Not with MP_ANY_THREAD. Without memory the process ends.
 * Returns MP_OK. */
static inline int32_t mp_statistics(mp_engine *engine, mp_statistic_fn each, void *user) {
  return engine->calls->statistics(engine, each, user);
}

/* --- An engine in a separate thread (docs/explanation/offload.md). --- */

/* Creates "offload:budget_kib=4608,ring=1024,engine=NAME"; NULL and "" are "offload:engine=hybrid". One thread at a time calls
 * the engine, and one thread at a time the wire. mp_post and mp_post_exact do not wait: they return MP_OK or MP_AGAIN, and
 * mp_poll returns the outcomes. All other functions wait until the engine has taken the receives posted before. mp_arrive
 * returns MP_INVALID.
 * Returns as mp_create, and writes `*wire`. */
int32_t mp_create_offload(const char *name, struct mp_engine **engine, struct mp_wire **wire, char *error,
                          size_t error_size);

/* A message arrives, in the order of calls. Does not wait.
 * Returns MP_OK, or MP_AGAIN. */
int32_t mp_wire_arrive(struct mp_wire *wire, uint64_t message, uint64_t pair, uint64_t tag);

/* Destroys the wire. The engine still handles messages that arrived. NULL is allowed. */
void mp_wire_destroy(struct mp_wire *wire);

/* Writes at most `room` completions, oldest first. Does not wait.
 * Returns their number. */
static inline int64_t mp_poll(mp_engine *engine, mp_completion *completions, size_t room) {
  return engine->calls->poll(engine, completions, room);
}

/* Returns 1 if the engine exceeded its memory budget, so that mp_post and mp_poll match in the calling thread; otherwise 0. */
static inline int32_t mp_fell_back(mp_engine *engine) {
  return engine->calls->fell_back(engine);
}

#ifdef __cplusplus
}
#endif

#endif /* MATCHPOINT_H */
