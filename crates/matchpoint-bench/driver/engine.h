/* An engine, called through the inline functions of matchpoint.h. The words are first written to each
 * request, because an MPI library needs them to cancel and to complete a request. */

static mp_outcome post_to_engine(void *engine, struct request *receive, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    uint64_t id = (uint64_t)(uintptr_t)receive;
    write_words(receive, pair, tag, ignore);
    if (ignore == 0 && !has_any_source(pair))
        return mp_post_exact(engine, id, pair, tag);
    return mp_post(engine, id, pair, tag, ignore);
}

static mp_outcome arrive_at_engine(void *engine, struct request *message, uint64_t pair, uint64_t tag)
{
    write_words(message, pair, tag, 0);
    return mp_arrive(engine, (uint64_t)(uintptr_t)message, pair, tag);
}

static void destroy_engine(void *engine)
{
    mp_destroy(engine);
}

static const struct matcher engine_matcher = {NULL, NULL, destroy_engine, post_to_engine, arrive_at_engine};
