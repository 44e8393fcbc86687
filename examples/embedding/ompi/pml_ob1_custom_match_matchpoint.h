/* -*- Mode: C; c-basic-offset:4 ; indent-tabs-mode:nil -*- */
/* Matching of pml/ob1 with libmatchpoint: one engine per communicator, called under its matching lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The id of a receive is the address of its request, the id of a message that of its fragment. Blocking probes are posted like
 * receives: ob1 completes them, and searches again.
 *
 * OMPI_ANY_TAG matches tags >= 0 only: the negative tags of collectives have the top bit, which no mask ignores.
 */
#ifndef PML_OB1_CUSTOM_MATCH_MATCHPOINT_H
#define PML_OB1_CUSTOM_MATCH_MATCHPOINT_H

#include <stdlib.h>

#include <matchpoint.h>

#include "../pml_ob1_recvfrag.h"
#include "../pml_ob1_recvreq.h"
#include "opal/util/output.h"

typedef struct custom_match_prq
{
    mp_engine *engine;
} custom_match_prq;

/* Both queues: see custom_match_umq_of. */
typedef custom_match_prq custom_match_umq;

/* What a search holds: the fragment. */
typedef mca_pml_ob1_recv_frag_t custom_match_umq_node;

static inline uint64_t custom_match_pair(int source)
{
    return mp_pair(0, OMPI_ANY_SOURCE == source ? MP_ANY_SOURCE : (uint32_t) source);
}

static inline uint64_t custom_match_tag(int tag)
{
    return OMPI_ANY_TAG == tag ? 0 : (uint64_t) (int64_t) tag;
}

static inline uint64_t custom_match_ignore(int tag)
{
    return OMPI_ANY_TAG == tag ? MP_ANY_TAG >> 1 : 0;
}

static inline void custom_match_check(int64_t status, int64_t expected, const char *call)
{
    if (OPAL_UNLIKELY(status != expected)) {
        opal_output(0, "pml/ob1: %s: %s", call, mp_status_text(status));
        abort();
    }
}

/* MATCHPOINT_ENGINE names the engine, for instance "hybrid" or "list". */
static inline custom_match_prq *custom_match_prq_init(void)
{
    custom_match_prq *prq = (custom_match_prq *) malloc(sizeof(*prq));
    char error[256]       = "out of memory";

    if (NULL == prq || MP_OK != mp_create(getenv("MATCHPOINT_ENGINE"), 0, &prq->engine, error, sizeof(error))) {
        opal_output(0, "pml/ob1: MATCHPOINT_ENGINE: %s", error);
        abort();
    }
    return prq;
}

static inline custom_match_umq *custom_match_umq_of(custom_match_prq *prq)
{
    return prq;
}

static inline void custom_match_prq_destroy(custom_match_prq *prq)
{
    mp_destroy(prq->engine);
    free(prq);
}

/* custom_match_prq_destroy ended the engine. */
static inline void custom_match_umq_destroy(custom_match_umq *umq)
{
    (void) umq;
}

static inline void custom_match_prq_append(custom_match_prq *prq, void *request, int tag, int source)
{
    mp_outcome queued = mp_post(prq->engine, (uintptr_t) request, custom_match_pair(source), custom_match_tag(tag),
                                custom_match_ignore(tag));

    custom_match_check(queued.status, MP_QUEUED, "mp_post");
}

static inline int custom_match_prq_cancel(custom_match_prq *prq, void *request)
{
    mca_pml_base_request_t *base = (mca_pml_base_request_t *) request;

    return MP_FOUND == mp_cancel(prq->engine, (uintptr_t) request, custom_match_pair(base->req_peer),
                                 custom_match_tag(base->req_tag), custom_match_ignore(base->req_tag));
}

/* Takes the oldest posted receive or blocking probe that the message matches, or returns NULL. */
static inline void *custom_match_prq_find_dequeue_verify(custom_match_prq *prq, int tag, int source)
{
    mp_outcome found;

    if (0 == mp_posted_len(prq->engine)) {
        return NULL;
    }
    found = mp_take_receive(prq->engine, custom_match_pair(source), custom_match_tag(tag));
    return MP_FOUND == found.status ? (void *) (uintptr_t) found.id : NULL;
}

static inline void custom_match_umq_append(custom_match_umq *umq, int tag, int source, void *frag)
{
    mp_outcome queued = mp_arrive(umq->engine, (uintptr_t) frag, custom_match_pair(source), custom_match_tag(tag));

    custom_match_check(queued.status, MP_QUEUED, "mp_arrive");
}

/* Finds the oldest message that the receive matches. custom_match_umq_remove_hold takes it. */
static inline void *custom_match_umq_find_verify_hold(custom_match_umq *umq, int tag, int source,
                                                      custom_match_umq_node **previous, custom_match_umq_node **held,
                                                      int *index)
{
    mp_outcome found;

    if (0 == mp_unexpected_len(umq->engine)) {
        return NULL;
    }
    found = mp_probe(umq->engine, custom_match_pair(source), custom_match_tag(tag), custom_match_ignore(tag));
    if (MP_FOUND != found.status) {
        return NULL;
    }
    *previous = NULL;
    *held     = (custom_match_umq_node *) (uintptr_t) found.id;
    *index    = 0;
    return *held;
}

static inline void custom_match_umq_remove_hold(custom_match_umq *umq, custom_match_umq_node *previous,
                                                custom_match_umq_node *held, int index)
{
    const mca_pml_ob1_match_hdr_t *header = &held->hdr.hdr_match;

    (void) previous;
    (void) index;
    custom_match_check(mp_retract(umq->engine, (uintptr_t) held, custom_match_pair(header->hdr_src),
                                  custom_match_tag(header->hdr_tag)),
                       MP_FOUND, "mp_retract");
}

static inline int custom_match_prq_size(custom_match_prq *prq)
{
    return (int) mp_posted_len(prq->engine);
}

static inline int custom_match_umq_size(custom_match_umq *umq)
{
    return (int) mp_unexpected_len(umq->engine);
}

static inline void custom_match_print_entry(void *user, const mp_entry *entry)
{
    (void) user;
    opal_output(0, "  %p peer %d tag %d%s", (void *) (uintptr_t) entry->id, (int) mp_source(entry->pair), (int) entry->tag,
                entry->ignore ? " (any tag)" : "");
}

static inline void custom_match_prq_dump(custom_match_prq *prq)
{
    mp_visit(prq->engine, MP_QUEUE_POSTED, custom_match_print_entry, NULL);
}

static inline void custom_match_umq_dump(custom_match_umq *umq)
{
    mp_visit(umq->engine, MP_QUEUE_UNEXPECTED, custom_match_print_entry, NULL);
}

#endif
