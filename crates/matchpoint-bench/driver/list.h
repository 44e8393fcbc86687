/* Stand-in `c:list`: two linear lists, as in MPICH's ch4. */

struct lists {
    struct link posted, unexpected;
};

static void *create_lists(void)
{
    struct lists *lists = malloc(sizeof *lists);
    if (lists != NULL) {
        init_list(&lists->posted);
        init_list(&lists->unexpected);
    }
    return lists;
}

static mp_outcome post_to_lists(void *state, struct request *receive, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    struct lists *lists = state;
    uint64_t pair_mask = pair_mask_of(pair);
    FOR_EACH_LINK(at, &lists->unexpected) {
        struct request *message = REQUEST_OF(at, queue);
        if (message_matches(message, pair, pair_mask, tag, ignore)) {
            remove_link(at);
            return match_request(message);
        }
    }
    describe_request(receive, pair, tag, ignore, 0);
    append_link(&lists->posted, &receive->queue);
    return queued;
}

static mp_outcome arrive_at_lists(void *state, struct request *message, uint64_t pair, uint64_t tag)
{
    struct lists *lists = state;
    FOR_EACH_LINK(at, &lists->posted) {
        struct request *receive = REQUEST_OF(at, queue);
        if (receive_matches(receive, pair, tag)) {
            remove_link(at);
            return match_request(receive);
        }
    }
    describe_request(message, pair, tag, 0, 0);
    append_link(&lists->unexpected, &message->queue);
    return queued;
}

static const struct matcher list_matcher = {"c:list", create_lists, free, post_to_lists, arrive_at_lists};
