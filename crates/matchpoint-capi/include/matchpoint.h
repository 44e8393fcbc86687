/* libmatchpoint: message matching for MPI and network libraries. The manual is docs/c.md.
 *
 * Generated from the Rust sources; do not edit. SPDX-License-Identifier: BSD-3-Clause
 *
 * 1. A message matches a receive when their contexts are equal, and source and tag are each equal or left open.
 * 2. An arriving message takes the earliest posted receive it matches; if none, it joins the unexpected queue.
 * 3. A posted receive takes the earliest unexpected message it matches; if none, it joins the posted queue.
 *
 * Statuses are negative for what was not done, 0 for done and nothing to hand out, 1 for done and handed out, 2 for
 * done otherwise (MP_NAMED). No function writes to what it is handed unless it says so. Receives and messages are named by 64-bit
 * numbers of the caller's. Functions that take an mp_engine, an mp_offload or an mp_wire: one thread at a time for each, any
 * number of them at a time. Functions that take an mp_concurrent: any number of threads at a time. After what a first round of calls of
 * an mp_engine needed, its posts, arrivals and probes do not allocate; but for those of the engine hybrid, now and then: where
 * searches by wildcards are rare, receives are cancelled, many masks come and go, a table grows, or queues were short for a while.
 *
 * A program that is built with this header runs with every later library of the same MP_ABI_VERSION: functions,
 * constants and the layout of structs that are handed in never change, structs that are handed out grow at their end.
 * But for version 0, which is that of the time before the first release: build program and library of one source.
 */

#ifndef MATCHPOINT_H
#define MATCHPOINT_H

#include <stdint.h>
#include <stddef.h>

/**
 * Context and source in one word.
 */
static inline uint64_t mp_pair(uint32_t context, uint32_t source) {
  return (uint64_t)context << 32 | source;
}

/**
 * The version of this interface. A library is fit for a program if both have the same (`mp_abi_version`). 0 is the
 * interface before its first release, which may still change.
 */
#define MP_ABI_VERSION 0

/**
 * Status: done, and there is nothing to hand out.
 */
#define MP_OK 0

/**
 * Status of a post or an arrival: nothing matched; the receive or the message waits in its queue.
 */
#define MP_QUEUED 0

/**
 * Status of a probe, a withdrawal, a readdressing: there is no such message, or receive.
 */
#define MP_NONE 0

/**
 * Status of a post, an arrival, a readdressing: it matched, and the id of what it matched was written.
 */
#define MP_MATCHED 1

/**
 * Status of a probe, a withdrawal: there was such a message, or receive.
 */
#define MP_FOUND 1

/**
 * Status of a readdressing: no receive that is posted accepts the message, which has its source now and waits on.
 */
#define MP_NAMED 2

/**
 * Status: refused, since it breaks an assertion made by `mp_engine_set_hints`. The engine is as it was.
 */
#define MP_REFUSED_HINT (-1)

/**
 * Status: refused, since a table of fixed size is full: fall back to another engine. The engine is as it was.
 */
#define MP_REFUSED_FULL (-2)

/**
 * Status: refused, since memory cannot be had. The engine is as it was.
 */
#define MP_REFUSED_MEMORY (-3)

/**
 * Status: an argument is NULL, a reserved field is not 0, or a flag is unknown. Nothing was done.
 */
#define MP_INVALID (-4)

/**
 * Status: the engine has a bug and is of no further use; standard error has a line about it. Every later call on it
 * but `mp_engine_destroy` answers this.
 */
#define MP_PANICKED (-5)

/**
 * Status: the engine is in another call: a callback called it, or another thread. Nothing was done. That another
 * thread did so is not always noticed; of an mp_concurrent it is no reason.
 */
#define MP_BUSY (-6)

/**
 * Status of making an engine: the name is not understood, or cannot be had: there is no such engine, it does not take
 * such a parameter or value, or it needs what this machine has not (an instruction set, a file). Nothing was made.
 */
#define MP_UNKNOWN_NAME (-7)

/**
 * Status of handing something to an `mp_offload` or an `mp_wire`: a ring is full. Nothing was done: poll, then try again.
 */
#define MP_AGAIN (-8)

/**
 * Kind of a completion: the receive has the message.
 */
#define MP_COMPLETION_MATCHED 0

/**
 * Kind of a completion: the receive was not posted; its status says why.
 */
#define MP_COMPLETION_RECEIVE_REFUSED 1

/**
 * Kind of a completion: the message was not taken; its status says why.
 */
#define MP_COMPLETION_MESSAGE_REFUSED 2

/**
 * As the `source` of a selector: any source (MPI_ANY_SOURCE).
 */
#define MP_ANY_SOURCE UINT32_MAX

/**
 * As the `source` of an envelope: not known yet (libfabric's FI_ADDR_UNSPEC). Only receives from any source match it,
 * until `mp_engine_readdress` names its source. Such messages keep their order among themselves, as if of one source;
 * once named, a message has its age among those of its source.
 */
#define MP_UNKNOWN_SOURCE UINT32_MAX

/**
 * As the `ignore` mask of a selector: any tag (MPI_ANY_TAG).
 */
#define MP_ANY_TAG UINT64_MAX

/**
 * Hint: no receive or probe will leave the source open (mpi_assert_no_any_source).
 */
#define MP_HINT_NO_ANY_SOURCE 1

/**
 * Hint: no receive or probe will leave the tag, or part of it, open (mpi_assert_no_any_tag).
 */
#define MP_HINT_NO_ANY_TAG 2

/**
 * Hint: buffers have just the length of the message (mpi_assert_exact_length). Does not affect matching.
 */
#define MP_HINT_EXACT_LENGTH 4

/**
 * Hint: messages may match in any order (mpi_assert_allow_overtaking).
 */
#define MP_HINT_ALLOW_OVERTAKING 8

/**
 * Hint, ours: every receive is posted before its message arrives. A message that would have to wait is refused.
 */
#define MP_HINT_NO_UNEXPECTED 16

/**
 * Order: the earliest, over all sources.
 */
#define MP_ORDER_TOTAL 0

/**
 * Order: receives in the order they were posted; of the unexpected messages the earliest of its source, from
 * whichever source (MPI's minimum, MPI-4.1 section 3.5). Those with MP_UNKNOWN_SOURCE count as being of one.
 */
#define MP_ORDER_PER_SOURCE 1

/**
 * Order: any that matches.
 */
#define MP_ORDER_NONE 2

/**
 * Queue: receives that wait for a message (the PRQ).
 */
#define MP_QUEUE_POSTED 0

/**
 * Queue: messages that wait for a receive (the UMQ).
 */
#define MP_QUEUE_UNEXPECTED 1

/**
 * Drained: a receive that is no longer posted.
 */
#define MP_DRAINED_RECEIVE 0

/**
 * Drained: a message that is no longer queued.
 */
#define MP_DRAINED_MESSAGE 1

/**
 * Drained: a receive that stays posted although the failed source might have been the one to serve it
 * (MPI_ERR_PROC_FAILED_PENDING).
 */
#define MP_DRAINED_PENDING 2

/**
 * A matching engine: the two queues of one process.
 *
 * Opaque. One thread at a time may call an engine (lock it, or keep it to one thread); different engines have nothing
 * in common and may be called at the same time.
 */
typedef struct mp_engine mp_engine;

/**
 * A matching engine that any thread may call at any time, several at once (MPI_THREAD_MULTIPLE): the two queues of one process.
 *
 * Opaque. The `mp_concurrent_...` functions are those of `mp_engine`; nothing is one for the other. All calls together return what
 * they would return one after the other, in the order of some moments between the beginning and the end of each.
 */
typedef struct mp_concurrent mp_concurrent;

/**
 * The application's side of an engine that works in a thread of its own.
 *
 * Opaque. One thread at a time may call it, as an `mp_engine`.
 */
typedef struct mp_offload mp_offload;

/**
 * The side of an `mp_offload` from which messages come.
 *
 * Opaque. One thread at a time may call it: another than calls the `mp_offload`, at the same time, or the same.
 */
typedef struct mp_wire mp_wire;

/**
 * What there is to know of an engine before one is made. The texts are the library's, and last as long as it is
 * loaded.
 */
typedef struct mp_engine_info {
  /**
   * What `mp_engine_create` knows it by.
   */
  const char *name;
  /**
   * One line: its structure, and who uses it.
   */
  const char *summary;
  /**
   * How many parameters it has.
   */
  size_t parameters;
} mp_engine_info;

/**
 * One parameter of an engine. The texts are the library's, and last as long as it is loaded.
 */
typedef struct mp_parameter_info {
  /**
   * Its key.
   */
  const char *key;
  /**
   * The value it has unless given.
   */
  const char *default_value;
  /**
   * What it means, with its unit.
   */
  const char *meaning;
} mp_parameter_info;

/**
 * What became of a receive, a message or a probe. Functions return it in two registers.
 */
typedef struct mp_outcome {
  /**
   * What was matched or found: a receive or a message; else 0.
   */
  uint64_t id;
  /**
   * As the function says.
   */
  int32_t status;
  /**
   * 0.
   */
  uint32_t reserved;
} mp_outcome;

/**
 * What a receive or a probe asks for. It matches an envelope with the same context, with the same source unless it is
 * MP_ANY_SOURCE, and with the same tag but for the bits set in `ignore`.
 */
typedef struct mp_selector {
  /**
   * The tag, in the bits that count.
   */
  uint64_t tag;
  /**
   * One in every bit of the tag that does not count: 0, MP_ANY_TAG, or any mask.
   */
  uint64_t ignore;
  /**
   * The communicator's context id.
   */
  uint32_t context;
  /**
   * A rank in the communicator, or MP_ANY_SOURCE.
   */
  uint32_t source;
} mp_selector;

/**
 * What a message says of itself.
 */
typedef struct mp_envelope {
  /**
   * Its tag, all bits of which count.
   */
  uint64_t tag;
  /**
   * The communicator's context id.
   */
  uint32_t context;
  /**
   * A rank in the communicator, or MP_UNKNOWN_SOURCE.
   */
  uint32_t source;
} mp_envelope;

/**
 * A message, as it arrives in a batch.
 */
typedef struct mp_message {
  /**
   * Its name, chosen by the caller.
   */
  uint64_t id;
  /**
   * What it says of itself.
   */
  struct mp_envelope envelope;
} mp_message;

/**
 * Told that message number `number` of a batch has taken `receive`: a copy, or a request for the data, is the caller's to do.
 *
 * Unlike other callbacks it may run in several threads at once, those of the engine among them, in any order of the messages
 * (`mp_engine_deliver_batch` says which threads): what it shares with itself it guards. It is called until that call returns,
 * and not after. It must return, neither by longjmp nor by an exception, must not end its thread, and must not call the same engine,
 * from whichever thread it is in (such a call answers MP_BUSY), nor fork.
 */
typedef void (*mp_deliver_fn)(void *user, size_t number, uint64_t receive);

/**
 * Told the assertions on a context: the sum of some of MP_HINT_..., never 0. For the rest see `mp_drain_fn`.
 */
typedef void (*mp_hints_fn)(void *user, uint32_t context, uint32_t hints);

/**
 * Told what is taken out of an engine: one of MP_DRAINED_..., and the id.
 *
 * As every callback: called in the thread of the call that it was handed to, with the `user` pointer handed in
 * beside it, and only until that call returns. It must return, neither by longjmp nor by an exception, and must not
 * call the same engine (such a call answers MP_BUSY).
 */
typedef void (*mp_drain_fn)(void *user, int32_t kind, uint64_t id);

/**
 * What waits in a queue.
 */
typedef struct mp_entry {
  /**
   * The receive's or the message's name.
   */
  uint64_t id;
  /**
   * Its tag.
   */
  uint64_t tag;
  /**
   * Of a receive: the bits of the tag that do not count. Of a message: 0.
   */
  uint64_t ignore;
  /**
   * Its context.
   */
  uint32_t context;
  /**
   * Its source, MP_ANY_SOURCE or MP_UNKNOWN_SOURCE.
   */
  uint32_t source;
  /**
   * MP_QUEUE_POSTED: it is a receive. MP_QUEUE_UNEXPECTED: it is a message.
   */
  int32_t queue;
  /**
   * 0.
   */
  uint32_t reserved;
} mp_entry;

/**
 * Told what waits in a queue. `entry` lasts until it returns. For the rest see `mp_drain_fn`.
 */
typedef void (*mp_visit_fn)(void *user, const struct mp_entry *entry);

/**
 * Bytes an engine holds, allocated and not merely used.
 */
typedef struct mp_footprint {
  /**
   * Held whether or not anything is queued.
   */
  uint64_t fixed_bytes;
  /**
   * Held per peer that was heard of, all peers together.
   */
  uint64_t peers_bytes;
  /**
   * Held for what is queued, or was: capacity, not length.
   */
  uint64_t entries_bytes;
  /**
   * The largest sum of the three so far.
   */
  uint64_t peak_bytes;
} mp_footprint;

/**
 * Entries examined, by posts, arrivals and probes alike: MPI_T's match attempts. 0 unless the engine was made by
 * `mp_engine_create_counting`.
 */
typedef struct mp_attempts {
  /**
   * MPICH's posted_recvq_match_attempts.
   */
  uint64_t posted;
  /**
   * MPICH's unexpected_recvq_match_attempts.
   */
  uint64_t unexpected;
} mp_attempts;

/**
 * Told a figure of one engine: its name, with its unit, and its value. `name` lasts until it returns. For the rest
 * see `mp_drain_fn`.
 */
typedef void (*mp_statistic_fn)(void *user, const char *name, double value);

/**
 * What came of something that was handed to an `mp_offload`, or to its `mp_wire`.
 */
typedef struct mp_completion {
  /**
   * The receive; 0 if a message was not taken.
   */
  uint64_t receive;
  /**
   * The message; 0 if a receive was not taken.
   */
  uint64_t message;
  /**
   * MP_COMPLETION_...
   */
  int32_t kind;
  /**
   * MP_MATCHED, or why it was not taken: MP_REFUSED_...
   */
  int32_t status;
} mp_completion;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the interface that the library has: MP_ABI_VERSION of its header. A program that loads it at run
 * time compares them before anything else.
 */
uint32_t mp_abi_version(void);

/**
 * The library's release, as a text: "0.1.0".
 */
const char *mp_version(void);

/**
 * A status in words. Never NULL.
 */
const char *mp_status_text(int32_t status);

/**
 * The number of engines there are.
 */
size_t mp_engine_count(void);

/**
 * Writes what there is to know of engine `index` (from 0) to `*info`, `size` bytes long (sizeof(mp_engine_info)).
 * Any thread may ask at any time.
 *
 * Returns MP_OK, or MP_INVALID if there is no such engine.
 *
 * What the caller sees to:
 * `info` is NULL or room for `size` bytes.
 */
int32_t mp_engine_describe(size_t index,
                           struct mp_engine_info *info,
                           size_t size);

/**
 * Writes what there is to know of parameter `parameter` (from 0) of engine `index` to `*info`, `size` bytes long
 * (sizeof(mp_parameter_info)). Any thread may ask at any time.
 *
 * Returns MP_OK, or MP_INVALID if there is no such parameter.
 *
 * What the caller sees to:
 * `info` is NULL or room for `size` bytes.
 */
int32_t mp_engine_describe_parameter(size_t index,
                                     size_t parameter,
                                     struct mp_parameter_info *info,
                                     size_t size);

/**
 * Makes the engine called `name`, written name:key=value,... ("list", "bins:n=64"); `mp_engine_describe` tells which
 * there are. NULL and "" are the default, "hybrid": what getenv() answers can be handed in as it is. The caller ends the
 * engine by `mp_engine_destroy`.
 *
 * Returns MP_OK and writes `*engine`. Else `*engine` becomes NULL, and `error` what is wrong and what would be right:
 * `error_size` bytes, the last of them always zero, the text cut short where it is longer; `error` may be NULL.
 * MP_UNKNOWN_NAME: the name is not understood or cannot be had; a program that has it from its user says so, or goes on
 * with NULL. MP_INVALID: `engine` is NULL. MP_PANICKED: the engine has a bug. It may abort the process if no memory is
 * left, as may `mp_engine_create_counting` and `mp_engine_statistics`, and no other function of an engine for one thread.
 *
 * What the caller sees to:
 * `name` is NULL or a C string, `engine` NULL or room for a pointer, `error` NULL or room for `error_size` bytes.
 */
int32_t mp_engine_create(const char *name,
                         struct mp_engine **engine,
                         char *error,
                         size_t error_size);

/**
 * The same engine as by `mp_engine_create`, counting the entries it examines (`mp_engine_attempts`). It is slower.
 *
 * What the caller sees to:
 * As `mp_engine_create`.
 */
int32_t mp_engine_create_counting(const char *name,
                                  struct mp_engine **engine,
                                  char *error,
                                  size_t error_size);

/**
 * Ends an engine; what is queued is forgotten. NULL is MP_OK.
 *
 * Returns MP_OK; or MP_BUSY if a callback of that engine asked, which then is still there.
 *
 * What the caller sees to:
 * `engine` is NULL, or was made by this library and not destroyed.
 */
int32_t mp_engine_destroy(struct mp_engine *engine);

/**
 * Posts a receive from one source with one tag. `pair` is `mp_pair(context, source)`.
 *
 * Status: MP_MATCHED (`id` is the message), MP_QUEUED, or as `mp_engine_post`.
 *
 * What the caller sees to:
 * As `mp_engine_post`, and `engine` is not NULL.
 */
struct mp_outcome mp_post_exact(struct mp_engine *engine, uint64_t receive, uint64_t pair, uint64_t tag);

/**
 * Posts any receive. The source in `pair` may be MP_ANY_SOURCE. Bits of the tag that are set in `ignore` do not count.
 *
 * Status: as `mp_post_exact`.
 *
 * What the caller sees to:
 * As `mp_post_exact`.
 */
struct mp_outcome mp_post(struct mp_engine *engine,
                          uint64_t receive,
                          uint64_t pair,
                          uint64_t tag,
                          uint64_t ignore);

/**
 * A message arrives. The source in `pair` may be MP_UNKNOWN_SOURCE.
 *
 * Status: MP_MATCHED (`id` is the receive), MP_QUEUED, or as `mp_engine_arrive`.
 *
 * What the caller sees to:
 * As `mp_post_exact`.
 */
struct mp_outcome mp_arrive(struct mp_engine *engine, uint64_t message, uint64_t pair, uint64_t tag);

/**
 * Finds the message that such a receive would take now, and leaves it in place (MPI_Iprobe).
 *
 * Status: MP_FOUND (`id` is the message), MP_NONE, or as `mp_engine_probe`.
 *
 * What the caller sees to:
 * As `mp_post_exact`.
 */
struct mp_outcome mp_probe(struct mp_engine *engine, uint64_t pair, uint64_t tag, uint64_t ignore);

/**
 * Finds the message that such a receive would take now, and takes it (MPI_Improbe). An embedding that makes a request only where
 * nothing waits calls this first, then `mp_post`.
 *
 * Status: as `mp_probe`.
 *
 * What the caller sees to:
 * As `mp_post_exact`.
 */
struct mp_outcome mp_matched_probe(struct mp_engine *engine,
                                   uint64_t pair,
                                   uint64_t tag,
                                   uint64_t ignore);

/**
 * Posts a receive called `receive`: it takes the earliest unexpected message it matches; if none, it joins the posted
 * queue (MPI-4.1 section 3.5).
 *
 * `receive` is any number that no receive posted at the same time has: an index, a pointer. A table that reuses
 * its places puts a generation beside the place, so that a stale `mp_engine_cancel` finds nothing.
 *
 * Returns MP_MATCHED and writes the message to `*message`, or MP_QUEUED; or MP_REFUSED_HINT if a wildcard breaks an
 * assertion, MP_REFUSED_FULL, MP_REFUSED_MEMORY, MP_INVALID, MP_PANICKED, MP_BUSY. Time: see docs/engines.md.
 *
 * What the caller sees to:
 * `engine` is NULL, or was made by this library and not destroyed, and no other thread is in a call on it. The other
 * pointers are NULL or point to what their type says. So it is in every function below.
 */
int32_t mp_engine_post(struct mp_engine *engine,
                       uint64_t receive,
                       const struct mp_selector *selector,
                       uint64_t *message);

/**
 * Tells of a message called `message` that arrived: it takes the earliest posted receive it matches; if none, it
 * joins the unexpected queue.
 *
 * `message` is any number that no message unexpected at the same time has. Messages of a context that nothing was
 * posted to yet are queued: peers may finish creating a communicator first.
 *
 * Returns MP_MATCHED and writes the receive to `*receive`, or MP_QUEUED; or MP_REFUSED_HINT if it would have to wait
 * where MP_HINT_NO_UNEXPECTED was asserted, MP_REFUSED_FULL, MP_REFUSED_MEMORY, MP_INVALID, MP_PANICKED, MP_BUSY.
 * Time: see docs/engines.md.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_arrive(struct mp_engine *engine,
                         uint64_t message,
                         const struct mp_envelope *envelope,
                         uint64_t *receive);

/**
 * The same as `mp_engine_arrive` on each of `count` messages in turn: one crossing of the interface instead of `count`.
 * `optimistic_parallel` matches them by several threads, other engines one by one; the order of matches is that of single calls.
 * Stops at the first message that is refused.
 *
 * `*done` becomes the number of messages before that one, `count` if there is none; so many of `outcomes` are written.
 *
 * Returns MP_OK if all were taken, else why `messages[*done]` was not: MP_REFUSED_HINT, MP_REFUSED_FULL,
 * MP_REFUSED_MEMORY. With MP_INVALID, MP_PANICKED or MP_BUSY nothing is written. It allocates only if no batch before
 * was as large.
 *
 * What the caller sees to:
 * As `mp_engine_post`; `messages` and `outcomes` are NULL or have `count` elements.
 */
int32_t mp_engine_arrive_batch(struct mp_engine *engine,
                               const struct mp_message *messages,
                               size_t count,
                               struct mp_outcome *outcomes,
                               size_t *done);

/**
 * The same as `mp_engine_arrive_batch`, and calls `deliver` once for each message that takes a receive, as soon as that is
 * certain and before it returns: with `user`, the message's place in `messages` and the receive. `outcomes` and `*done` are
 * written after that.
 *
 * `optimistic_parallel` calls it in the calling thread and in threads of its own, several at once, in any order; all other
 * engines in the calling thread, in the order of messages. The library's threads are called matchpoint-worker, have a stack of
 * 2 MiB (or what RUST_MIN_STACK says), and mask the signals that the thread masked that handed in the engine's first batch.
 *
 * Returns as `mp_engine_arrive_batch`; MP_INVALID if `deliver` is NULL, too. If a message is refused nothing is delivered of it
 * and of those behind it; those before it were. With MP_PANICKED any of them may have been.
 *
 * What the caller sees to:
 * As `mp_engine_arrive_batch`; `deliver` is as `mp_deliver_fn` says, and `user` is good for any thread.
 */
int32_t mp_engine_deliver_batch(struct mp_engine *engine,
                                const struct mp_message *messages,
                                size_t count,
                                struct mp_outcome *outcomes,
                                size_t *done,
                                mp_deliver_fn deliver,
                                void *user);

/**
 * Finds the message that a receive with this selector would take now, and leaves it in place (MPI_Iprobe).
 *
 * Returns MP_FOUND and writes the message to `*message`, or MP_NONE: a selector that breaks an assertion finds
 * nothing. Else MP_INVALID, MP_PANICKED, MP_BUSY. Time: that of `mp_engine_post`.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_probe(struct mp_engine *engine,
                        const struct mp_selector *selector,
                        uint64_t *message);

/**
 * Finds the message that a receive with this selector would take now, and takes it: no receive or probe sees it any
 * more (MPI_Improbe).
 *
 * Returns as `mp_engine_probe`.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_matched_probe(struct mp_engine *engine,
                                const struct mp_selector *selector,
                                uint64_t *message);

/**
 * Withdraws a receive (MPI_Cancel), by the name that it was posted under: for a caller that names receives by pointers
 * to its requests, the request. `selector` is the one that the receive was posted with.
 *
 * A name may be used again once its receive was taken, withdrawn or drained; a caller that withdraws requests which
 * may be another's by then puts a generation into the name.
 *
 * Returns MP_FOUND: it was still posted, and no longer is. MP_NONE: it is not posted. Else MP_INVALID, MP_PANICKED,
 * MP_BUSY. A name that is posted with another selector is an error of the caller: the receive is withdrawn and MP_FOUND
 * returned, or neither. Time: O(receives posted) unless the engine says better.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_cancel(struct mp_engine *engine,
                         uint64_t receive,
                         const struct mp_selector *selector);

/**
 * Withdraws an unexpected message. `envelope` is the one that it is queued with: the one that it arrived with, and after
 * MP_NAMED with the source that it was given. `hashes` is ignored.
 *
 * Returns MP_FOUND: it was still queued, and no longer is. MP_NONE: it is not queued. Else MP_INVALID, MP_PANICKED,
 * MP_BUSY. A name that is queued with another envelope is an error of the caller: the message is withdrawn and MP_FOUND
 * returned, or neither. Time: O(messages unexpected) unless the engine says better.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_retract(struct mp_engine *engine,
                          uint64_t message,
                          const struct mp_envelope *envelope);

/**
 * Names the source of an unexpected message that arrived with MP_UNKNOWN_SOURCE: it takes the earliest posted receive that
 * it matches under that name; if none, it waits on, at its age. `envelope` is the one that it arrived with.
 *
 * Who learns the source of several messages at once names the oldest first, or a younger one takes the receive of an older
 * one.
 *
 * Returns MP_NAMED: no receive that is posted accepts it; it has `source` now, and waits on. MP_MATCHED, and writes the
 * receive that it took to `*receive`: neither is queued any more. MP_NONE, and nothing changed: no message of that name
 * waits nameless (it was taken, withdrawn or named before, or never came), or `envelope->source` is not
 * MP_UNKNOWN_SOURCE, or `source` is, which is no name. MP_REFUSED_MEMORY or MP_REFUSED_FULL, and nothing changed: it waits, nameless, at its age, and the call may be
 * tried again; let to arrive anew it would lose its place. Else MP_INVALID, MP_PANICKED, MP_BUSY. Time: O(entries queued)
 * unless the engine says better.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_readdress(struct mp_engine *engine,
                            uint64_t message,
                            const struct mp_envelope *envelope,
                            uint32_t source,
                            uint64_t *receive);

/**
 * Replaces the assertions on a context by `hints`: the sum of some of MP_HINT_..., 0 for MPI's full semantics
 * (MPI-4.1 section 7.4.4).
 *
 * Returns MP_OK; MP_REFUSED_HINT if what is queued already breaks one of them; MP_REFUSED_MEMORY; MP_INVALID (for an
 * unknown hint, too), MP_PANICKED, MP_BUSY. Time: O(entries queued), or as the engine says.
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_set_hints(struct mp_engine *engine,
                            uint32_t context,
                            uint32_t hints);

/**
 * Tells `each` the assertions that hold, for every context that has any, in the order of contexts: what a caller that
 * goes on with another engine (MP_REFUSED_FULL) sets there before it posts what `mp_engine_visit` shows.
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. Time: O(contexts with assertions).
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`; `each` is as `mp_hints_fn` says.
 */
int32_t mp_engine_hints(const struct mp_engine *engine,
                        mp_hints_fn each,
                        void *user);

/**
 * Takes out all that is queued in a context, and forgets its hints (MPI_Comm_free): nothing of it can match any more,
 * and its id may be used again.
 *
 * `each` (NULL: nobody asks) is told the receives, then the messages, oldest first, once all are out.
 *
 * Returns MP_OK; MP_REFUSED_MEMORY if there is none to list them (8 bytes for each entry of the context, given back
 * before the call returns, but for 8 KiB of each kind), with nothing taken out; MP_INVALID, MP_PANICKED, MP_BUSY. Time:
 * O(entries queued), and sorting those of the context, or as the engine says: `hybrid` looks at all places that it has for
 * entries, too.
 *
 * What the caller sees to:
 * As `mp_engine_post`; `each` is as `mp_drain_fn` says.
 */
int32_t mp_engine_close(struct mp_engine *engine,
                        uint32_t context,
                        mp_drain_fn each,
                        void *user);

/**
 * Tells that a peer died (the ULFM proposal to the MPI Forum; not in MPI-4.1): takes out the posted receives that name it, keeps the
 * messages that had arrived from it, and leaves the receives from any source of this context posted.
 *
 * `each` (NULL: nobody asks) is told the receives taken out, then those from any source as MP_DRAINED_PENDING
 * (MPI_ERR_PROC_FAILED_PENDING), oldest first.
 *
 * Returns as `mp_engine_close`, but that the lists take 16 bytes for each receive of the context, which may be in either, and
 * none for messages; MP_INVALID, with nothing done, if `source` is MP_UNKNOWN_SOURCE, which is nobody who could have died.
 *
 * What the caller sees to:
 * As `mp_engine_close`.
 */
int32_t mp_engine_fail_source(struct mp_engine *engine,
                              uint32_t context,
                              uint32_t source,
                              mp_drain_fn each,
                              void *user);

/**
 * The number of receives posted (MPI_T's posted_recvq_length); or MP_INVALID, MP_PANICKED, MP_BUSY, which are
 * negative. O(1).
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int64_t mp_engine_posted_len(const struct mp_engine *engine);

/**
 * The number of messages unexpected (MPI_T's unexpected_recvq_length); or MP_INVALID, MP_PANICKED, MP_BUSY, which are
 * negative. O(1).
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int64_t mp_engine_unexpected_len(const struct mp_engine *engine);

/**
 * Shows `each` all that is in `queue` (MP_QUEUE_...), over all contexts, oldest first.
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. Time: O(entries), and sorting them.
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`; `each` is as `mp_visit_fn` says.
 */
int32_t mp_engine_visit(const struct mp_engine *engine,
                        int32_t queue,
                        mp_visit_fn each,
                        void *user);

/**
 * The order that the engine promises in a context whose hints relax nothing: one of MP_ORDER_...; or MP_INVALID,
 * MP_PANICKED, MP_BUSY, which are negative.
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`.
 */
int32_t mp_engine_order(const struct mp_engine *engine);

/**
 * Writes the bytes that the engine holds to `*footprint`, `size` bytes long (sizeof(mp_footprint)).
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`; `footprint` is NULL or room for `size` bytes.
 */
int32_t mp_engine_footprint(const struct mp_engine *engine,
                            struct mp_footprint *footprint,
                            size_t size);

/**
 * Writes the entries that the engine examined so far to `*attempts`, `size` bytes long (sizeof(mp_attempts)).
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`; `attempts` is NULL or room for `size` bytes.
 */
int32_t mp_engine_attempts(const struct mp_engine *engine,
                           struct mp_attempts *attempts,
                           size_t size);

/**
 * Tells `each` what only this engine has to tell: name, with its unit, and value.
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. It allocates, and may abort the process if no memory is left.
 *
 * For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
 * "Threads", says how lengths are shown to others).
 *
 * What the caller sees to:
 * As `mp_engine_post`; `each` is as `mp_statistic_fn` says.
 */
int32_t mp_engine_statistics(const struct mp_engine *engine,
                             mp_statistic_fn each,
                             void *user);

/**
 * Makes the concurrent engine called `name`: "locked:engine=NAME", "sharded:shards=16,engine=NAME" or "split:engine=NAME", where
 * NAME is as of `mp_engine_create` and comes last (docs/concurrent.md says which to use). NULL and "" are
 * "locked:engine=hybrid". The caller ends it by `mp_concurrent_destroy`.
 *
 * Returns as `mp_engine_create`; it may abort the process if no memory is left, too.
 *
 * What the caller sees to:
 * `name` is NULL or a C string, `engine` NULL or room for a pointer, `error` NULL or room for `error_size` bytes.
 */
int32_t mp_concurrent_create(const char *name,
                             struct mp_concurrent **engine,
                             char *error,
                             size_t error_size);

/**
 * Ends an engine; what is queued is forgotten. NULL is MP_OK.
 *
 * Returns MP_OK; or MP_BUSY if a callback of that engine asked, which then is still there.
 *
 * What the caller sees to:
 * `engine` is NULL, or was made by `mp_concurrent_create` and not destroyed; no other thread is in a call on it, or begins one.
 */
int32_t mp_concurrent_destroy(struct mp_concurrent *engine);

/**
 * As `mp_engine_post`, from any thread at any time: it takes effect at one moment between its beginning and its end, as every
 * call below.
 *
 * Returns as `mp_engine_post`. MP_BUSY: a callback of this engine called, in this thread; no call of another thread is a reason,
 * here and below.
 *
 * What the caller sees to:
 * `engine` is NULL, or was made by `mp_concurrent_create` and is not destroyed before the call returns. The other pointers are NULL
 * or point to what their type says, which no other thread changes meanwhile. So it is in every function below.
 */
int32_t mp_concurrent_post(struct mp_concurrent *engine,
                           uint64_t receive,
                           const struct mp_selector *selector,
                           uint64_t *message);

/**
 * As `mp_engine_arrive`, from any thread at any time. Messages of one source are handed in by one thread, or one after the other
 * by several: those that two threads hand in at once arrive in either order.
 *
 * Returns as `mp_engine_arrive`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_arrive(struct mp_concurrent *engine,
                             uint64_t message,
                             const struct mp_envelope *envelope,
                             uint64_t *receive);

/**
 * As `mp_engine_arrive_batch`, from any thread at any time: each message arrives at a moment of its own, in their order, and calls
 * of other threads may take effect between two.
 *
 * Returns as `mp_engine_arrive_batch`. It allocates 56 bytes for each message, given back before it returns.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`; `messages` and `outcomes` are NULL or have `count` elements.
 */
int32_t mp_concurrent_arrive_batch(struct mp_concurrent *engine,
                                   const struct mp_message *messages,
                                   size_t count,
                                   struct mp_outcome *outcomes,
                                   size_t *done);

/**
 * As `mp_engine_deliver_batch`, from any thread at any time. `deliver` must not wait for a thread that calls this engine either:
 * that call may wait for this batch.
 *
 * Returns as `mp_engine_deliver_batch`, and allocates as `mp_concurrent_arrive_batch`.
 *
 * What the caller sees to:
 * As `mp_concurrent_arrive_batch`; `deliver` is as `mp_deliver_fn` says, and `user` is good for any thread.
 */
int32_t mp_concurrent_deliver_batch(struct mp_concurrent *engine,
                                    const struct mp_message *messages,
                                    size_t count,
                                    struct mp_outcome *outcomes,
                                    size_t *done,
                                    mp_deliver_fn deliver,
                                    void *user);

/**
 * As `mp_engine_probe`, from any thread at any time. By the time it returns another thread may have received the message.
 *
 * Returns as `mp_engine_probe`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_probe(struct mp_concurrent *engine,
                            const struct mp_selector *selector,
                            uint64_t *message);

/**
 * As `mp_engine_matched_probe`, from any thread at any time: of several that ask at once, one gets the message.
 *
 * Returns as `mp_engine_probe`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_matched_probe(struct mp_concurrent *engine,
                                    const struct mp_selector *selector,
                                    uint64_t *message);

/**
 * As `mp_engine_cancel`, from any thread at any time. After MP_FOUND no thread is told of that receive; MP_NONE may come before
 * the thread whose call matched it is answered.
 *
 * Returns as `mp_engine_cancel`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_cancel(struct mp_concurrent *engine,
                             uint64_t receive,
                             const struct mp_selector *selector);

/**
 * As `mp_engine_retract`, from any thread at any time.
 *
 * Returns as `mp_engine_retract`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_retract(struct mp_concurrent *engine,
                              uint64_t message,
                              const struct mp_envelope *envelope);

/**
 * As `mp_engine_readdress`, from any thread at any time. The message is named, and matched if it is wanted, at one moment: no
 * lock is needed, and of several threads that name it at once one is told MP_NAMED or MP_MATCHED. MP_NONE may come before the
 * thread whose call matched the message is answered.
 *
 * Returns as `mp_engine_readdress`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_readdress(struct mp_concurrent *engine,
                                uint64_t message,
                                const struct mp_envelope *envelope,
                                uint32_t source,
                                uint64_t *receive);

/**
 * As `mp_engine_set_hints`, from any thread at any time.
 *
 * Returns as `mp_engine_set_hints`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int32_t mp_concurrent_set_hints(struct mp_concurrent *engine, uint32_t context, uint32_t hints);

/**
 * As `mp_engine_close`, from any thread at any time. Where MP_HINT_NO_ANY_SOURCE holds "sharded" tells of each source what is
 * older first, of different sources in any order; so does `mp_concurrent_visit`.
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. It may abort the process if there is no memory to list what is taken out: how
 * much that will be nobody can tell while other threads post.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`; `each` is as `mp_drain_fn` says.
 */
int32_t mp_concurrent_close(struct mp_concurrent *engine,
                            uint32_t context,
                            mp_drain_fn each,
                            void *user);

/**
 * As `mp_engine_fail_source`, from any thread at any time.
 *
 * Returns as `mp_concurrent_close`; MP_INVALID, with nothing done, if `source` is MP_UNKNOWN_SOURCE, which is nobody who
 * could have died.
 *
 * What the caller sees to:
 * As `mp_concurrent_close`.
 */
int32_t mp_concurrent_fail_source(struct mp_concurrent *engine,
                                  uint32_t context,
                                  uint32_t source,
                                  mp_drain_fn each,
                                  void *user);

/**
 * As `mp_engine_visit`, from any thread at any time, all of it at one moment: other calls wait until `each` has seen the last.
 * It must not wait for a thread that calls this engine.
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`; `each` is as `mp_visit_fn` says.
 */
int32_t mp_concurrent_visit(const struct mp_concurrent *engine,
                            int32_t queue,
                            mp_visit_fn each,
                            void *user);

/**
 * The number of receives posted; or MP_INVALID, MP_PANICKED, MP_BUSY, which are negative. From any thread at any time, so that a
 * tool may sample it, which may have to wait as any call may; exact while no other thread calls.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int64_t mp_concurrent_posted_len(const struct mp_concurrent *engine);

/**
 * The number of messages unexpected; as `mp_concurrent_posted_len`.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`.
 */
int64_t mp_concurrent_unexpected_len(const struct mp_concurrent *engine);

/**
 * As `mp_engine_footprint`, from any thread at any time, locks included.
 *
 * Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
 *
 * What the caller sees to:
 * As `mp_concurrent_post`; `footprint` is NULL or room for `size` bytes.
 */
int32_t mp_concurrent_footprint(const struct mp_concurrent *engine,
                                struct mp_footprint *footprint,
                                size_t size);

/**
 * Has the engine called `name` work in a thread of its own: "offload:budget_kib=4608,ring=1024,engine=NAME", where NAME is as of
 * `mp_engine_create` and comes last; NULL and "" are "offload:engine=hybrid". When engine and rings hold more than `budget_kib`
 * the application falls back: the same engine goes on where it was, in the thread that posts and polls (docs/offload.md). The
 * caller ends both sides, by `mp_offload_destroy` and `mp_wire_destroy`.
 *
 * Returns as `mp_engine_create`; `*wire` is written as `*offload` is. MP_UNKNOWN_NAME also if no thread can be had. It may abort
 * the process if no memory is left.
 *
 * What the caller sees to:
 * `name` is NULL or a C string, `offload` and `wire` NULL or room for a pointer, `error` NULL or room for `error_size` bytes.
 */
int32_t mp_offload_create(const char *name,
                          struct mp_offload **offload,
                          struct mp_wire **wire,
                          char *error,
                          size_t error_size);

/**
 * Ends the application's side, the engine and its thread; what is queued or on its way is forgotten. NULL is MP_OK. A wire that is
 * left takes messages until its ring is full.
 *
 * Returns MP_OK; or MP_BUSY if a callback of one of its calls asked.
 *
 * What the caller sees to:
 * `offload` is NULL, or was made by `mp_offload_create` and not destroyed.
 */
int32_t mp_offload_destroy(struct mp_offload *offload);

/**
 * Ends the side of the network. NULL is MP_OK. What was handed in is still taken.
 *
 * Returns MP_OK.
 *
 * What the caller sees to:
 * `wire` is NULL, or was made by `mp_offload_create` and not destroyed.
 */
int32_t mp_wire_destroy(struct mp_wire *wire);

/**
 * Hands in receive number `receive`, and does not wait. Receives are taken in the order in which they were handed in.
 *
 * Returns MP_OK: a completion will tell what came of it, unless it is cancelled. MP_AGAIN: the ring is full, poll first. MP_INVALID,
 * MP_PANICKED, MP_BUSY. Time: O(1), a store; after the fall-back that of the
 * engine for what was handed in, as much as both rings hold at most.
 *
 * What the caller sees to:
 * `offload` is NULL, or was made by `mp_offload_create` and not destroyed, and no other thread is in a call on it. The other
 * pointers are NULL or point to what their type says. So it is in every function below.
 */
int32_t mp_offload_post(struct mp_offload *offload,
                        uint64_t receive,
                        const struct mp_selector *selector);

/**
 * Hands in message number `message`, and does not wait. Messages are taken in the order in which they were handed in; those and
 * receives that are handed in at the same time may pass each other.
 *
 * Returns MP_OK: it arrives. MP_AGAIN: the ring is full; it has room again once the application has polled, and never if that was
 * answered by MP_PANICKED, or the `mp_offload` is destroyed. MP_INVALID. Time: O(1), a store.
 *
 * What the caller sees to:
 * As `mp_offload_post`, of `wire`: any thread may be in a call on the `mp_offload`.
 */
int32_t mp_wire_arrive(struct mp_wire *wire,
                       uint64_t message,
                       const struct mp_envelope *envelope);

/**
 * Writes what came of what was handed in to `completions`, `room` of them at most, oldest first, and does not wait. Each match is
 * told once. What the engine refuses is told here as well, since `mp_offload_post` and `mp_wire_arrive` do not wait for it.
 *
 * Returns how many were written, 0 if there is no news, or if `room` is 0, where `completions` may be NULL; or MP_INVALID,
 * MP_PANICKED, MP_BUSY, which are negative. Time: O(1) each, a load; after the fall-back that of the engine for what was handed
 * in, as much as both rings hold at most.
 *
 * What the caller sees to:
 * As `mp_offload_post`; `completions` is NULL (MP_INVALID unless `room` is 0) or has room for `room` elements.
 */
int64_t mp_offload_poll(struct mp_offload *offload,
                        struct mp_completion *completions,
                        size_t room);

/**
 * Whether the budget was exhausted, so that matching is done in calls of the application's.
 *
 * Returns 1 or 0; or MP_INVALID, MP_PANICKED, MP_BUSY, which are negative.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_fell_back(const struct mp_offload *offload);

/**
 * As `mp_engine_cancel`, whether or not the engine has come to the receive. It, and every call below, waits for the engine's thread
 * and for all receives handed in before to be taken; messages that were handed in and not taken have not arrived yet.
 *
 * Returns MP_FOUND: it was posted, and no completion will tell of it. MP_NONE: it was not; a completion told of it, or will.
 * MP_INVALID, MP_PANICKED, MP_BUSY.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_cancel(struct mp_offload *offload,
                          uint64_t receive,
                          const struct mp_selector *selector);

/**
 * As `mp_engine_retract`, of a message that has arrived.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_retract(struct mp_offload *offload, uint64_t message, const struct mp_envelope *envelope);

/**
 * As `mp_engine_probe`, of the messages that have arrived.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_probe(struct mp_offload *offload, const struct mp_selector *selector, uint64_t *message);

/**
 * As `mp_engine_matched_probe`, of the messages that have arrived. No completion will tell of the message.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_matched_probe(struct mp_offload *offload,
                                 const struct mp_selector *selector,
                                 uint64_t *message);

/**
 * As `mp_engine_readdress`, of a message that has arrived. A match is told here alone, by no completion.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_readdress(struct mp_offload *offload,
                             uint64_t message,
                             const struct mp_envelope *envelope,
                             uint32_t source,
                             uint64_t *receive);

/**
 * As `mp_engine_set_hints`.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int32_t mp_offload_set_hints(struct mp_offload *offload, uint32_t context, uint32_t hints);

/**
 * As `mp_engine_close`. It may abort the process if there is no memory to list what is taken out.
 *
 * What the caller sees to:
 * As `mp_offload_post`; `each` is as `mp_drain_fn` says, where the engine is the `mp_offload`.
 */
int32_t mp_offload_close(struct mp_offload *offload, uint32_t context, mp_drain_fn each, void *user);

/**
 * As `mp_engine_fail_source`. It may abort the process if there is no memory to list what is taken out.
 *
 * What the caller sees to:
 * As `mp_offload_close`.
 */
int32_t mp_offload_fail_source(struct mp_offload *offload,
                               uint32_t context,
                               uint32_t source,
                               mp_drain_fn each,
                               void *user);

/**
 * As `mp_engine_visit`. The engine's thread waits until `each` has seen the last.
 *
 * What the caller sees to:
 * As `mp_offload_post`; `each` is as `mp_visit_fn` says, where the engine is the `mp_offload`.
 */
int32_t mp_offload_visit(const struct mp_offload *offload, int32_t queue, mp_visit_fn each, void *user);

/**
 * As `mp_engine_posted_len`.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int64_t mp_offload_posted_len(const struct mp_offload *offload);

/**
 * As `mp_engine_unexpected_len`, of the messages that have arrived.
 *
 * What the caller sees to:
 * As `mp_offload_post`.
 */
int64_t mp_offload_unexpected_len(const struct mp_offload *offload);

/**
 * As `mp_engine_footprint`, of the engine, rings left out.
 *
 * What the caller sees to:
 * As `mp_offload_post`; `footprint` is NULL or room for `size` bytes.
 */
int32_t mp_offload_footprint(const struct mp_offload *offload, struct mp_footprint *footprint, size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MATCHPOINT_H */
