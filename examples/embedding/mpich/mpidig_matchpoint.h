/* The active-message receive queues of MPICH's ch4 device with libmatchpoint: one engine per VCI, called under its lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * `apply` includes this file at the end of mpidig_recvq.h. The macros at the end of this file redirect the calls of ch4. The queues
 * of partitioned communication keep their lists.
 *
 * The id of an entry is the address of its request. Messages within the node and from the network do not match the same receives:
 * the top bit of the context separates them.
 */
#ifndef MPIDIG_MATCHPOINT_H_INCLUDED
#define MPIDIG_MATCHPOINT_H_INCLUDED

#include <matchpoint.h>

#define MPIDIG_MATCHPOINT_LOCAL 0x80000000u

/* The queue's VCI. */
MPL_STATIC_INLINE_PREFIX MPIDI_per_vci_t *MPIDIG_matchpoint_vci(MPIR_Request ** list, enum MPIDIG_queue_type qtype)
{
    size_t offset = (qtype == MPIDIG_PT2PT_POSTED) ? offsetof(MPIDI_per_vci_t, posted_list)
        : offsetof(MPIDI_per_vci_t, unexp_list);

    return (MPIDI_per_vci_t *) ((char *) list - offset);
}

MPL_STATIC_INLINE_PREFIX uint64_t MPIDIG_matchpoint_pair(int rank, int context_id, bool is_local)
{
    return mp_pair((uint32_t) context_id | (is_local ? MPIDIG_MATCHPOINT_LOCAL : 0),
                   (rank == MPI_ANY_SOURCE) ? MP_ANY_SOURCE : (uint32_t) rank);
}

MPL_STATIC_INLINE_PREFIX uint64_t MPIDIG_matchpoint_tag(int tag)
{
    return (tag == MPI_ANY_TAG) ? 0 : (uint64_t) (int64_t) tag;
}

MPL_STATIC_INLINE_PREFIX uint64_t MPIDIG_matchpoint_ignore(int tag)
{
    return (tag == MPI_ANY_TAG) ? MP_ANY_TAG : 0;
}

MPL_STATIC_INLINE_PREFIX bool MPIDIG_matchpoint_is_local(MPIR_Request * req)
{
#ifdef MPIDI_CH4_DIRECT_NETMOD
    return false;
#else
    return MPIDI_REQUEST(req, is_local);
#endif
}

/* With MPIDI_CH4_DIRECT_NETMOD, MPICH compares no locality. */
MPL_STATIC_INLINE_PREFIX bool MPIDIG_matchpoint_locality(bool is_local)
{
#ifdef MPIDI_CH4_DIRECT_NETMOD
    return false;
#else
    return is_local;
#endif
}

MPL_STATIC_INLINE_PREFIX void MPIDIG_matchpoint_enqueue(MPIR_Request * req, MPIR_Request ** list,
                                                        enum MPIDIG_queue_type qtype)
{
    if (qtype == MPIDIG_PART) {
        MPIDIG_enqueue_request(req, list, qtype);
        return;
    }

    MPIDI_per_vci_t *vci = MPIDIG_matchpoint_vci(list, qtype);
    int rank = req->status.MPI_SOURCE, tag = req->status.MPI_TAG;
    uint64_t pair = MPIDIG_matchpoint_pair(rank, MPIDIG_REQUEST(req, u.recv.context_id), MPIDIG_matchpoint_is_local(req));
    mp_outcome queued;

    if (qtype == MPIDIG_PT2PT_UNEXP) {
        queued = mp_arrive(vci->recvq_engine, (uintptr_t) req, pair, MPIDIG_matchpoint_tag(tag));
    } else {
        queued = mp_post(vci->recvq_engine, (uintptr_t) req, pair, MPIDIG_matchpoint_tag(tag),
                         MPIDIG_matchpoint_ignore(tag));
    }
    MPIR_Assertp(queued.status == MP_QUEUED);
    MPIDIG_DO_ENQUEUE_EVENT(qtype);
    MPIDIG_PVAR_QUEUE_LEVEL_INC(qtype);
}

MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDIG_matchpoint_search(int rank, int tag, int context_id, MPIR_Request ** list,
                                                                bool is_local, enum MPIDIG_queue_type qtype,
                                                                bool dequeue)
{
    if (qtype == MPIDIG_PART) {
        return MPIDIG_recvq_search(rank, tag, context_id, list, is_local, qtype, dequeue);
    }

    MPIDI_per_vci_t *vci = MPIDIG_matchpoint_vci(list, qtype);
    uint64_t pair = MPIDIG_matchpoint_pair(rank, context_id, MPIDIG_matchpoint_locality(is_local));
    mp_outcome found = { 0, MP_NONE };
    MPIR_Request *req = NULL;

    MPIDIG_PVAR_QUEUE_TIMER_START(qtype);
    if (qtype == MPIDIG_PT2PT_POSTED) {
        MPIR_Assert(dequeue);
        if (mp_posted_len(vci->recvq_engine) > 0) {
            found = mp_take_receive(vci->recvq_engine, pair, MPIDIG_matchpoint_tag(tag));
        }
    } else if (mp_unexpected_len(vci->recvq_engine) > 0) {
        found = (dequeue ? mp_matched_probe : mp_probe) (vci->recvq_engine, pair, MPIDIG_matchpoint_tag(tag),
                                                         MPIDIG_matchpoint_ignore(tag));
    }
    if (found.status == MP_FOUND) {
        req = (MPIR_Request *) (uintptr_t) found.id;
        if (dequeue) {
            MPIDIG_DO_DEQUEUE_EVENT(qtype);
            MPIDIG_PVAR_QUEUE_LEVEL_DEC(qtype);
        }
    }
    MPIDIG_PVAR_QUEUE_TIMER_END(qtype, req);
    return req;
}

MPL_STATIC_INLINE_PREFIX int MPIDIG_matchpoint_delete_posted(MPIR_Request * req, MPIR_Request ** list)
{
    MPIDI_per_vci_t *vci = MPIDIG_matchpoint_vci(list, MPIDIG_PT2PT_POSTED);
    int rank = req->status.MPI_SOURCE, tag = req->status.MPI_TAG;
    uint64_t pair = MPIDIG_matchpoint_pair(rank, MPIDIG_REQUEST(req, u.recv.context_id), MPIDIG_matchpoint_is_local(req));

    if (mp_cancel(vci->recvq_engine, (uintptr_t) req, pair, MPIDIG_matchpoint_tag(tag), MPIDIG_matchpoint_ignore(tag)) !=
        MP_FOUND) {
        return 0;
    }
    MPIR_T_PVAR_LEVEL_DEC(RECVQ, posted_recvq_length, 1);
    return 1;
}

/* MATCHPOINT_ENGINE names the engine, for instance "hybrid" or "list". */
MPL_STATIC_INLINE_PREFIX int MPIDIG_matchpoint_init(int vci)
{
    char error[256];

    if (mp_create(getenv("MATCHPOINT_ENGINE"), 0, &MPIDI_global.per_vci[vci].recvq_engine, error, sizeof(error)) != MP_OK) {
        MPL_error_printf("MATCHPOINT_ENGINE: %s\n", error);
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX void MPIDIG_matchpoint_destroy(int vci)
{
    mp_destroy(MPIDI_global.per_vci[vci].recvq_engine);
    MPIDI_global.per_vci[vci].recvq_engine = NULL;
}

#define MPIDIG_enqueue_request(req_, list_, qtype_) MPIDIG_matchpoint_enqueue(req_, list_, qtype_)
#define MPIDIG_rreq_find(rank_, tag_, context_id_, list_, is_local_, qtype_) \
    MPIDIG_matchpoint_search(rank_, tag_, context_id_, list_, is_local_, qtype_, false)
#define MPIDIG_rreq_dequeue(rank_, tag_, context_id_, list_, is_local_, qtype_) \
    MPIDIG_matchpoint_search(rank_, tag_, context_id_, list_, is_local_, qtype_, true)
#define MPIDIG_delete_posted(req_, list_) MPIDIG_matchpoint_delete_posted(req_, list_)

#endif /* MPIDIG_MATCHPOINT_H_INCLUDED */
