/* An engine, called through the inline functions of matchpoint.h. */

/* Writes the words of a queued request, which an MPI library needs to cancel it and to complete it. */
static inline mp_outcome describe_queued(mp_outcome outcome, struct request *request, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    if (outcome.status == MP_QUEUED)
        describe_request(request, pair, tag, ignore, 0);
    return outcome;
}

static mp_outcome post_to_engine(void *engine, struct request *receive, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    uint64_t id = (uint64_t)(uintptr_t)receive;
    if (ignore == 0 && !has_any_source(pair))
        return describe_queued(mp_post_exact(engine, id, pair, tag), receive, pair, tag, ignore);
    return describe_queued(mp_post(engine, id, pair, tag, ignore), receive, pair, tag, ignore);
}

static mp_outcome arrive_at_engine(void *engine, struct request *message, uint64_t pair, uint64_t tag)
{
    return describe_queued(mp_arrive(engine, (uint64_t)(uintptr_t)message, pair, tag), message, pair, tag, 0);
}

static void destroy_engine(void *engine)
{
    mp_destroy(engine);
}

static const struct matcher engine_matcher = {NULL, NULL, destroy_engine, post_to_engine, arrive_at_engine};
