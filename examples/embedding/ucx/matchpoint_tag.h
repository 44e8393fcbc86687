/* UCX's tag matching with libmatchpoint: one engine per worker, called under the worker's lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * `apply` includes this file at the end of ucp/tag/tag_match.inl. The macros at its end redirect the calls of UCP. tag_match.c also
 * defines MP_UCP_IMPLEMENTATION, and compiles the functions that are seldom called.
 *
 * The id of a receive is the address of its ucp_request_t, the id of a message that of its ucp_recv_desc_t. UCP makes a
 * descriptor only after a search without a match, so the search stores its place, and the message is queued there.
 *
 * Tags have 64 bits with any mask, and no separate source, so all entries have context 0 and source 0.
 *
 * ucp_tag_match_t keeps its layout, so that programs that read it, such as UCX's gtest, need no new build. Two of its fields get
 * another meaning: the macros below.
 */
#ifndef MATCHPOINT_TAG_H_
#define MATCHPOINT_TAG_H_

#include <matchpoint.h>
#include <ucs/type/init_once.h>

#define mp_ucp_engine(_tm) ((mp_engine*)(_tm)->unexpected.hash)
#define mp_ucp_place(_tm)  ((_tm)->expected.sn)

/* A copy of the engine's functions. A load of engine->calls before each call costs 1.2 ns a message. */
extern mp_calls mp_ucp_calls __attribute__((visibility("hidden")));

void mp_ucp_fatal(const char *call, int64_t status) UCS_F_NORETURN;
void mp_ucp_exp_consumed(ucp_tag_match_t *tm, ucp_request_t *req);
void mp_ucp_unexp_remove(ucp_tag_match_t *tm, ucp_recv_desc_t *rdesc);
int mp_ucp_offload_post(ucp_worker_h worker, ucp_request_t *req);

/* Takes the posted receive that a message with this tag matches, or returns NULL. */
static UCS_F_ALWAYS_INLINE ucp_request_t *
mp_ucp_exp_search(ucp_tag_match_t *tm, ucp_tag_t tag)
{
    ucp_request_t *req;
    mp_outcome found;

    if (*mp_ucp_engine(tm)->posted == 0) {
        mp_ucp_place(tm) = 0;
        return NULL;
    }

    found = mp_ucp_calls.take_receive(mp_ucp_engine(tm), 0, tag);
    if (found.status != MP_FOUND) {
        mp_ucp_place(tm) = found.id;
        return NULL;
    }

    req = (ucp_request_t*)(uintptr_t)found.id;
    tm->expected.sw_all_count -= !(req->flags & UCP_REQUEST_FLAG_OFFLOADED);
    ucs_trace_req("matched received tag %"PRIx64" to req %p", tag, req);
    return req;
}

/* Queues a message after mp_ucp_exp_search returned NULL. */
static UCS_F_ALWAYS_INLINE void
mp_ucp_unexp_recv(ucp_tag_match_t *tm, ucp_recv_desc_t *rdesc, ucp_tag_t tag)
{
    mp_outcome queued = mp_ucp_calls.queue_message(mp_ucp_engine(tm), (uintptr_t)rdesc, 0, tag, mp_ucp_place(tm));

    if (ucs_unlikely(queued.status != MP_QUEUED)) {
        mp_ucp_fatal("mp_queue_message", queued.status);
    }
    ucs_trace_req("unexp "UCP_RECV_DESC_FMT" tag %"PRIx64, UCP_RECV_DESC_ARG(rdesc), tag);
}

/* Finds the message that a receive with this tag and mask matches, and takes it if `rem`. Returns NULL without a match. */
static UCS_F_ALWAYS_INLINE ucp_recv_desc_t *
mp_ucp_unexp_search(ucp_tag_match_t *tm, ucp_tag_t tag, ucp_tag_t tag_mask, int rem)
{
    mp_outcome found;

    if (ucs_likely(*mp_ucp_engine(tm)->unexpected == 0)) {
        return NULL;
    }

    found = rem ? mp_ucp_calls.matched_probe(mp_ucp_engine(tm), 0, tag, ~tag_mask) :
                  mp_ucp_calls.probe(mp_ucp_engine(tm), 0, tag, ~tag_mask);
    return (found.status == MP_FOUND) ? (ucp_recv_desc_t*)(uintptr_t)found.id : NULL;
}

/* Posts a receive after mp_ucp_unexp_search returned NULL. */
static UCS_F_ALWAYS_INLINE void
mp_ucp_exp_push(ucp_tag_match_t *tm, ucp_request_t *req)
{
    ucp_tag_t tag      = req->recv.tag.tag;
    ucp_tag_t tag_mask = req->recv.tag.tag_mask;
    mp_outcome posted;

    posted = ucs_likely(tag_mask == UCP_TAG_MASK_FULL) ?
             mp_ucp_calls.post_exact(mp_ucp_engine(tm), (uintptr_t)req, 0, tag) :
             mp_ucp_calls.post(mp_ucp_engine(tm), (uintptr_t)req, 0, tag, ~tag_mask);
    if (ucs_unlikely(posted.status != MP_QUEUED)) {
        mp_ucp_fatal("mp_post", posted.status);
    }
}

/* Posts a receive to the hardware as well, if that matches receives of this length. */
static UCS_F_ALWAYS_INLINE void
mp_ucp_offload_try_post(ucp_worker_h worker, ucp_request_t *req)
{
    if (ucs_unlikely(req->recv.dt_iter.length >= worker->tm.offload.thresh) &&
        mp_ucp_offload_post(worker, req)) {
        return;
    }
    ++worker->tm.expected.sw_all_count;
}

#ifdef MP_UCP_IMPLEMENTATION

mp_calls mp_ucp_calls;

void mp_ucp_fatal(const char *call, int64_t status)
{
    ucs_fatal("%s: %s", call, mp_status_text(status));
}

/* The tables of tag_match.c, which remain empty, keep other names. */
ucs_status_t ucp_tag_match_init_tables(ucp_tag_match_t *tm);
void ucp_tag_match_cleanup_tables(ucp_tag_match_t *tm);
int ucp_tag_exp_remove_from_table(ucp_tag_match_t *tm, ucp_request_t *req);
int ucp_tag_unexp_is_table_empty(ucp_tag_match_t *tm);

/* MATCHPOINT_ENGINE names the engine, for instance "hybrid" or "list". */
ucs_status_t ucp_tag_match_init(ucp_tag_match_t *tm)
{
    static ucs_init_once_t once = UCS_INIT_ONCE_INITIALIZER;
    ucs_status_t status         = ucp_tag_match_init_tables(tm);
    mp_engine *engine;
    char error[256];

    if (status != UCS_OK) {
        return status;
    }

    if (mp_create(getenv("MATCHPOINT_ENGINE"), 0, &engine, error, sizeof(error)) != MP_OK) {
        ucs_error("MATCHPOINT_ENGINE: %s", error);
        ucp_tag_match_cleanup_tables(tm);
        return UCS_ERR_INVALID_PARAM;
    }

    UCS_INIT_ONCE(&once) {
        memcpy(&mp_ucp_calls, engine->calls, ucs_min(engine->calls->size, sizeof(mp_ucp_calls)));
    }

    if (engine->calls->destroy != mp_ucp_calls.destroy) {
        ucs_error("MATCHPOINT_ENGINE: the engine of the first worker has other functions");
        mp_destroy(engine);
        ucp_tag_match_cleanup_tables(tm);
        return UCS_ERR_INVALID_PARAM;
    }

    ucs_free(tm->expected.hash);
    ucs_free(tm->unexpected.hash);
    tm->expected.hash   = NULL;
    tm->unexpected.hash = (void*)engine;
    mp_ucp_place(tm)    = 0;
    return UCS_OK;
}

static void mp_ucp_drained(void *user, int32_t kind, uint64_t id)
{
    ucp_recv_desc_t *rdesc = (ucp_recv_desc_t*)(uintptr_t)id;

    if (kind == MP_DRAINED_MESSAGE) {
        ucs_warn("unexpected tag-receive descriptor %p was not matched", rdesc);
        ucp_recv_desc_release(rdesc);
    }
}

void ucp_tag_match_cleanup(ucp_tag_match_t *tm)
{
    int64_t status = mp_close(mp_ucp_engine(tm), 0, mp_ucp_drained, NULL);

    if (status != MP_OK) {
        ucs_warn("mp_close: %s; unexpected messages are not released", mp_status_text(status));
    }
    mp_destroy(mp_ucp_engine(tm));
    tm->unexpected.hash = NULL;
    ucp_tag_match_cleanup_tables(tm);
}

int ucp_tag_unexp_is_empty(ucp_tag_match_t *tm)
{
    return mp_unexpected_len(mp_ucp_engine(tm)) == 0;
}

/* Removes a posted receive. Returns 0 if the receive is not posted. */
static int mp_ucp_exp_remove(ucp_tag_match_t *tm, ucp_request_t *req)
{
    return mp_ucp_calls.cancel(mp_ucp_engine(tm), (uintptr_t)req, 0, req->recv.tag.tag, ~req->recv.tag.tag_mask) ==
           MP_FOUND;
}

/* Hardware matched a posted receive. */
void mp_ucp_exp_consumed(ucp_tag_match_t *tm, ucp_request_t *req)
{
    ucs_assert_always(mp_ucp_exp_remove(tm, req));
}

int ucp_tag_exp_remove(ucp_tag_match_t *tm, ucp_request_t *req)
{
    if (!mp_ucp_exp_remove(tm, req)) {
        ucs_assert(!(req->flags & UCP_REQUEST_FLAG_COMPLETED));
        ucs_trace_req("can't remove req %p (already matched)", req);
        return 0;
    }

    tm->expected.sw_all_count -= !(req->flags & UCP_REQUEST_FLAG_OFFLOADED);
    ucp_tag_offload_try_cancel(req->recv.worker, req, 0);
    return 1;
}

void mp_ucp_unexp_remove(ucp_tag_match_t *tm, ucp_recv_desc_t *rdesc)
{
    int32_t status = mp_retract(mp_ucp_engine(tm), (uintptr_t)rdesc, 0, ucp_rdesc_get_tag(rdesc));

    ucs_assertv_always(status == MP_FOUND, "mp_retract: %s", mp_status_text(status));
}

/* The posted receives that hardware does not have: those of one tag, and the number of those with a mask. */
typedef struct {
    ucp_tag_t           tag;
    ucp_request_queue_t same_tag;
    unsigned            wildcards;
} mp_ucp_pending_t;

static void mp_ucp_add_pending(void *user, const mp_entry *entry)
{
    mp_ucp_pending_t *pending = user;
    ucp_request_t *req        = (ucp_request_t*)(uintptr_t)entry->id;

    if (req->flags & UCP_REQUEST_FLAG_OFFLOADED) {
        return;
    }

    if (entry->ignore != 0) {
        ++pending->wildcards;
    } else if (entry->tag == pending->tag) {
        ++pending->same_tag.sw_count;
        pending->same_tag.block_count += !!(req->flags & UCP_REQUEST_FLAG_BLOCK_OFFLOAD);
        ucs_queue_push(&pending->same_tag.queue, &req->recv.queue);
    }
}

/* Posts a receive to the hardware, with the receives of its tag that were posted before. O(1) if the hardware has all posted receives,
 * or cannot have this one; else O(n log n) for n posted receives. Returns 0 if only software can match the receive. */
int mp_ucp_offload_post(ucp_worker_h worker, ucp_request_t *req)
{
    ucp_tag_match_t *tm      = &worker->tm;
    mp_ucp_pending_t pending = {.tag = req->recv.tag.tag};

    ucs_queue_head_init(&pending.same_tag.queue);
    if ((tm->expected.sw_all_count > 0) && (req->recv.tag.tag_mask == UCP_TAG_MASK_FULL) &&
        (req->recv.dt_iter.dt_class == UCP_DATATYPE_CONTIG)) {
        mp_visit(mp_ucp_engine(tm), MP_QUEUE_POSTED, mp_ucp_add_pending, &pending);
    }
    tm->expected.wildcard.sw_count = pending.wildcards;
    return ucp_tag_offload_post(req, &pending.same_tag);
}

#define ucp_tag_match_init     ucp_tag_match_init_tables
#define ucp_tag_match_cleanup  ucp_tag_match_cleanup_tables
#define ucp_tag_exp_remove     ucp_tag_exp_remove_from_table
#define ucp_tag_unexp_is_empty ucp_tag_unexp_is_table_empty

#else

#define ucp_tag_exp_search(_tm, _tag)                         mp_ucp_exp_search(_tm, _tag)
#define ucp_tag_unexp_recv(_tm, _rdesc, _tag)                 mp_ucp_unexp_recv(_tm, _rdesc, _tag)
#define ucp_tag_unexp_search(_tm, _tag, _mask, _rem, _caller) mp_ucp_unexp_search(_tm, _tag, _mask, _rem)
#define ucp_tag_exp_get_queue(_tm, _tag, _mask)               NULL
#define ucp_tag_exp_push(_tm, _queue, _req)                   ((void)(_queue), mp_ucp_exp_push(_tm, _req))
#define ucp_tag_offload_try_post(_worker, _req, _queue)       mp_ucp_offload_try_post(_worker, _req)

#endif
#endif
