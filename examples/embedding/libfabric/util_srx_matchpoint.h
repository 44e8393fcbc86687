/* The tagged queues of libfabric's shared receive context with libmatchpoint: one engine per context.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * `apply` includes this file in util_srx.c. The id of an entry is the address of its util_rx_entry. The source is the fi_addr_t, if
 * the context has directed receives; else all sources are 0.
 *
 * foreach_unspec_addr is called without the lock of the context, so `unspec_lock` protects the engine and the lists.
 */
#ifndef UTIL_SRX_MATCHPOINT_H
#define UTIL_SRX_MATCHPOINT_H

#include <matchpoint.h>

/* A source of the engine has 32 bits. Providers number the addresses of a vector from 0. A receive from a larger address is refused. */
static inline bool mp_srx_has_source(fi_addr_t addr)
{
	return addr < MP_ANY_SOURCE;
}

static inline bool mp_srx_accepts(fi_addr_t addr)
{
	return addr == FI_ADDR_UNSPEC || mp_srx_has_source(addr);
}

/* FI_ADDR_UNSPEC: any source in a receive, an unknown source in a message. A message from a larger address (FI_AV_USER_ID) also has an
 * unknown source: no receive from that address exists. */
static inline uint64_t mp_srx_pair(struct util_srx_ctx *srx, fi_addr_t addr)
{
	if (!srx->dir_recv)
		return mp_pair(0, 0);
	return mp_pair(0, mp_srx_has_source(addr) ? (uint32_t) addr : MP_ANY_SOURCE);
}

static inline struct util_rx_entry *mp_srx_entry(uint64_t id)
{
	return (struct util_rx_entry *) (uintptr_t) id;
}

static int mp_srx_status(int64_t status, const char *call)
{
	if (status == MP_QUEUED)
		return FI_SUCCESS;
	FI_WARN(&core_prov, FI_LOG_EP_CTRL, "%s: %s\n", call, mp_status_text(status));
	return -FI_ENOMEM;
}

/* FI_MATCHPOINT_ENGINE names the engine, for instance "hybrid" or "list". */
static int mp_srx_create(struct util_srx_ctx *srx)
{
	char error[256];

	dlist_init(&srx->posted);
	dlist_init(&srx->matched);
	dlist_init(&srx->replaced);
	if (mp_create(getenv("FI_MATCHPOINT_ENGINE"), 0, &srx->engine, error, sizeof(error)) == MP_OK)
		return FI_SUCCESS;
	FI_WARN(&core_prov, FI_LOG_EP_CTRL, "FI_MATCHPOINT_ENGINE: %s\n", error);
	return -FI_EINVAL;
}

static void mp_srx_drain(void *user, int32_t kind, uint64_t id)
{
	struct util_rx_entry *rx_entry = mp_srx_entry(id);

	if (kind == MP_DRAINED_MESSAGE)
		rx_entry->peer_entry.srx->peer_ops->discard_tag(&rx_entry->peer_entry);
	ofi_buf_free(rx_entry);
}

static void mp_srx_destroy(struct util_srx_ctx *srx)
{
	struct util_rx_entry *rx_entry;

	while (!dlist_empty(&srx->matched)) {
		dlist_pop_front(&srx->matched, struct util_rx_entry, rx_entry, d_entry);
		mp_srx_drain(NULL, MP_DRAINED_MESSAGE, (uintptr_t) rx_entry);
	}
	while (!dlist_empty(&srx->replaced)) {
		dlist_pop_front(&srx->replaced, struct util_rx_entry, rx_entry, d_entry);
		ofi_buf_free(rx_entry);
	}
	mp_close(srx->engine, 0, mp_srx_drain, NULL);
	mp_destroy(srx->engine);
	srx->engine = NULL;
}

/* Starts messages that matched when they got their source. Called with `unspec_lock`, which it releases while a message starts. */
static void mp_srx_start_matched(struct util_srx_ctx *srx)
{
	struct util_rx_entry *rx_entry;

	while (!dlist_empty(&srx->replaced)) {
		dlist_pop_front(&srx->replaced, struct util_rx_entry, rx_entry, d_entry);
		ofi_buf_free(rx_entry);
	}
	while (!dlist_empty(&srx->matched)) {
		dlist_pop_front(&srx->matched, struct util_rx_entry, rx_entry, d_entry);
		ofi_genlock_unlock(&srx->unspec_lock);
		srx->update_func(srx, rx_entry);
		if (rx_entry->peer_entry.srx->peer_ops->start_tag(&rx_entry->peer_entry))
			FI_WARN(&core_prov, FI_LOG_EP_CTRL, "start_tag failed\n");
		ofi_genlock_lock(&srx->unspec_lock);
	}
}

/* A posted receive has a message: as the stock context completes a match. */
static void mp_srx_match(struct util_srx_ctx *srx, struct fid_peer_srx *peer, struct util_rx_entry *rx_entry)
{
	rx_entry->status = RX_ENTRY_MATCHED;
	rx_entry->peer_entry.srx = peer;
	srx->update_func(srx, rx_entry);
}

static int util_get_tag(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **rx_entry)
{
	struct util_srx_ctx *srx_ctx = srx->ep_fid.fid.context;
	struct util_rx_entry *util_entry;
	mp_outcome found = {0, MP_NONE};
	int ret = FI_SUCCESS;

	assert(ofi_genlock_held(srx_ctx->lock));
	ofi_genlock_lock(&srx_ctx->unspec_lock);
	mp_srx_start_matched(srx_ctx);
	if (mp_posted_len(srx_ctx->engine) > 0)
		found = mp_take_receive(srx_ctx->engine, mp_srx_pair(srx_ctx, attr->addr), attr->tag);
	if (found.status == MP_FOUND)
		dlist_remove(&mp_srx_entry(found.id)->d_entry);
	ofi_genlock_unlock(&srx_ctx->unspec_lock);

	if (found.status == MP_FOUND) {
		util_entry = mp_srx_entry(found.id);
		mp_srx_match(srx_ctx, srx, util_entry);
	} else {
		util_entry = util_init_unexp(srx_ctx, attr, FI_TAGGED | FI_RECV);
		if (!util_entry)
			return -FI_ENOMEM;
		util_entry->peer_entry.srx = srx;
		ret = -FI_ENOENT;
	}
	util_entry->peer_entry.msg_size = MIN(util_entry->peer_entry.msg_size, attr->msg_size);
	*rx_entry = &util_entry->peer_entry;
	return ret;
}

static int util_queue_tag(struct fi_peer_rx_entry *rx_entry)
{
	struct util_srx_ctx *srx = rx_entry->srx->ep_fid.fid.context;
	struct util_rx_entry *util_entry = container_of(rx_entry, struct util_rx_entry, peer_entry);
	mp_outcome queued;

	assert(ofi_genlock_held(srx->lock));
	assert(util_entry->status == RX_ENTRY_UNEXP);
	ofi_genlock_lock(&srx->unspec_lock);
	queued = mp_arrive(srx->engine, (uintptr_t) util_entry, mp_srx_pair(srx, rx_entry->addr), rx_entry->tag);
	ofi_genlock_unlock(&srx->unspec_lock);
	return mp_srx_status(queued.status, "mp_arrive");
}

/* Frees an unexpected message that may not be queued yet. */
static void mp_srx_retract(struct util_srx_ctx *srx, struct util_rx_entry *rx_entry)
{
	ofi_genlock_lock(&srx->unspec_lock);
	mp_retract(srx->engine, (uintptr_t) rx_entry, mp_srx_pair(srx, rx_entry->peer_entry.addr),
		   rx_entry->peer_entry.tag);
	ofi_genlock_unlock(&srx->unspec_lock);
}

static struct util_rx_entry *util_search_unexp_tag(struct util_srx_ctx *srx, fi_addr_t addr, uint64_t tag,
						   uint64_t ignore, bool remove)
{
	mp_outcome found = {0, MP_NONE};
	uint64_t pair = mp_srx_pair(srx, addr);

	ofi_genlock_lock(&srx->unspec_lock);
	mp_srx_start_matched(srx);
	if (mp_unexpected_len(srx->engine) > 0)
		found = remove ? mp_matched_probe(srx->engine, pair, tag, ignore) :
				 mp_probe(srx->engine, pair, tag, ignore);
	ofi_genlock_unlock(&srx->unspec_lock);
	return found.status == MP_FOUND ? mp_srx_entry(found.id) : NULL;
}

/* A message continues with the words of its receive: its entry is the one that its provider knows. */
static void mp_srx_take_words(struct util_rx_entry *message, struct util_rx_entry *receive)
{
	util_init_rx_entry(message, receive->peer_entry.iov, receive->peer_entry.desc, receive->peer_entry.count,
			   receive->peer_entry.addr, receive->peer_entry.context, receive->peer_entry.tag,
			   receive->peer_entry.flags);
	message->status = RX_ENTRY_MATCHED;
}

/* Posts a receive that found no message. Since that search a message may have got its source: the receive takes the message. */
static int mp_srx_post(struct util_srx_ctx *srx, struct util_rx_entry *rx_entry)
{
	struct util_rx_entry *message;
	mp_outcome posted;

	ofi_genlock_lock(&srx->unspec_lock);
	posted = mp_post(srx->engine, (uintptr_t) rx_entry, mp_srx_pair(srx, rx_entry->peer_entry.addr),
			 rx_entry->peer_entry.tag, rx_entry->ignore);
	if (posted.status == MP_QUEUED)
		dlist_insert_tail(&rx_entry->d_entry, &srx->posted);
	ofi_genlock_unlock(&srx->unspec_lock);
	if (posted.status == MP_QUEUED)
		return FI_SUCCESS;
	if (posted.status == MP_MATCHED) {
		message = mp_srx_entry(posted.id);
		mp_srx_take_words(message, rx_entry);
		ofi_buf_free(rx_entry);
		srx->update_func(srx, message);
		return (int) message->peer_entry.srx->peer_ops->start_tag(&message->peer_entry);
	}
	ofi_buf_free(rx_entry);
	return mp_srx_status(posted.status, "mp_post");
}

/* Cancels the oldest posted receive with this context: as stock, compares the receives in posted order. The engine knows no contexts.
 * Returns -FI_ENOENT if there is no such receive. */
static ssize_t mp_srx_cancel(struct util_srx_ctx *srx, void *context,
			     int (*cancel)(struct util_srx_ctx *, uint64_t, struct util_rx_entry *))
{
	struct util_rx_entry *rx_entry, *found = NULL;

	ofi_genlock_lock(&srx->unspec_lock);
	dlist_foreach_container(&srx->posted, struct util_rx_entry, rx_entry, d_entry) {
		if (rx_entry->peer_entry.context == context) {
			found = rx_entry;
			break;
		}
	}
	if (found) {
		dlist_remove(&found->d_entry);
		mp_cancel(srx->engine, (uintptr_t) found, mp_srx_pair(srx, found->peer_entry.addr),
			  found->peer_entry.tag, found->ignore);
	}
	ofi_genlock_unlock(&srx->unspec_lock);
	if (!found)
		return -FI_ENOENT;
	cancel(srx, FI_TAGGED | FI_RECV, found);
	return FI_SUCCESS;
}

/* Messages of one peer whose source is unknown, oldest first. */
struct mp_srx_unknown {
	struct fid_peer_srx	*peer;
	struct dlist_entry	entries;
};

static void mp_srx_add_unknown(void *user, const mp_entry *entry)
{
	struct mp_srx_unknown *unknown = user;
	struct util_rx_entry *rx_entry = mp_srx_entry(entry->id);

	if (mp_source(entry->pair) == MP_UNKNOWN_SOURCE && rx_entry->peer_entry.srx == unknown->peer)
		dlist_insert_tail(&rx_entry->d_entry, &unknown->entries);
}

/* Messages get their source. Those that a posted receive matches now are started. The address vector calls this under its lock, and
 * providers take that lock under the lock of the context. So with real locks the next call that searches starts the messages. Without
 * real locks, the only thread starts the messages here. */
static void mp_srx_name_sources(struct util_srx_ctx *srx, struct fid_peer_srx *peer,
				fi_addr_t (*get_addr)(struct fi_peer_rx_entry *))
{
	struct mp_srx_unknown unknown = {.peer = peer};
	struct util_rx_entry *rx_entry, *receive;
	mp_outcome named;
	fi_addr_t addr;

	if (!srx->dir_recv)
		return;
	dlist_init(&unknown.entries);
	ofi_genlock_lock(&srx->unspec_lock);
	if (mp_unexpected_len(srx->engine) > 0)
		mp_visit(srx->engine, MP_QUEUE_UNEXPECTED, mp_srx_add_unknown, &unknown);
	while (!dlist_empty(&unknown.entries)) {
		dlist_pop_front(&unknown.entries, struct util_rx_entry, rx_entry, d_entry);
		addr = get_addr(&rx_entry->peer_entry);
		if (!mp_srx_has_source(addr))
			continue;
		named = mp_readdress(srx->engine, (uintptr_t) rx_entry, mp_pair(0, MP_UNKNOWN_SOURCE),
				     rx_entry->peer_entry.tag, (uint32_t) addr);
		if (named.status == MP_NAMED) {
			rx_entry->peer_entry.addr = addr;
		} else if (named.status == MP_MATCHED) {
			/* The pool of entries is the other lock's: mp_srx_start_matched frees the receive. */
			receive = mp_srx_entry(named.id);
			dlist_remove(&receive->d_entry);
			mp_srx_take_words(rx_entry, receive);
			dlist_insert_tail(&rx_entry->d_entry, &srx->matched);
			dlist_insert_tail(&receive->d_entry, &srx->replaced);
		} else {
			FI_WARN(&core_prov, FI_LOG_EP_CTRL, "mp_readdress: %s\n", mp_status_text(named.status));
		}
	}
	ofi_genlock_unlock(&srx->unspec_lock);
	if (srx->lock->lock_type != OFI_LOCK_NOOP)
		return;
	ofi_genlock_lock(srx->lock);
	ofi_genlock_lock(&srx->unspec_lock);
	mp_srx_start_matched(srx);
	ofi_genlock_unlock(&srx->unspec_lock);
	ofi_genlock_unlock(srx->lock);
}

#endif
