/* Stand-in `c:ucx`: buckets by all words of a message, as UCX has them by a tag of 64 bits. Receives with a wildcard are in a
 * list. Sequence numbers order them and the receives of a bucket. Each unexpected message is in its bucket and in a list of
 * all, which receives with a wildcard search. */

enum { BUCKETS = 1021 };

struct buckets {
    struct link posted[BUCKETS], unexpected[BUCKETS];
    struct link wildcards, all_unexpected;
    uint64_t sequence;
};

static void *create_buckets(void)
{
    struct buckets *buckets = malloc(sizeof *buckets);
    if (buckets == NULL)
        return NULL;
    for (size_t at = 0; at < BUCKETS; at++) {
        init_list(&buckets->posted[at]);
        init_list(&buckets->unexpected[at]);
    }
    init_list(&buckets->wildcards);
    init_list(&buckets->all_unexpected);
    buckets->sequence = 0;
    return buckets;
}

static inline size_t bucket_of(uint64_t pair, uint64_t tag)
{
    uint64_t words = pair * UINT64_C(0x9e3779b1) ^ tag;
    return ((uint32_t)words ^ (uint32_t)(words >> 32)) % BUCKETS;
}

static inline struct request *find_exact(struct link *bucket, uint64_t pair, uint64_t tag)
{
    FOR_EACH_LINK(at, bucket) {
        struct request *request = REQUEST_OF(at, queue);
        if (request->tag == tag && request->pair == pair)
            return request;
    }
    return NULL;
}

/* Finds the oldest receive with a wildcard that the message matches and that is older than `sequence`, or NULL. */
static inline struct request *find_wildcard(struct buckets *buckets, uint64_t pair, uint64_t tag, uint64_t sequence)
{
    FOR_EACH_LINK(at, &buckets->wildcards) {
        struct request *receive = REQUEST_OF(at, queue);
        if (receive->sequence > sequence)
            return NULL;
        if (receive_matches(receive, pair, tag))
            return receive;
    }
    return NULL;
}

static inline struct request *find_in_all(struct buckets *buckets, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    uint64_t pair_mask = pair_mask_of(pair);
    FOR_EACH_LINK(at, &buckets->all_unexpected) {
        struct request *message = REQUEST_OF(at, all);
        if (message_matches(message, pair, pair_mask, tag, ignore))
            return message;
    }
    return NULL;
}

static mp_outcome post_to_buckets(void *state, struct request *receive, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    struct buckets *buckets = state;
    bool is_exact = ignore == 0 && !has_any_source(pair);
    size_t bucket = is_exact ? bucket_of(pair, tag) : 0;
    struct request *message = is_exact ? find_exact(&buckets->unexpected[bucket], pair, tag)
                                       : find_in_all(buckets, pair, tag, ignore);
    if (message != NULL) {
        remove_link(&message->queue);
        remove_link(&message->all);
        return match_request(message);
    }
    describe_request(receive, pair, tag, ignore, buckets->sequence++);
    append_link(is_exact ? &buckets->posted[bucket] : &buckets->wildcards, &receive->queue);
    return queued;
}

static mp_outcome arrive_at_buckets(void *state, struct request *message, uint64_t pair, uint64_t tag)
{
    struct buckets *buckets = state;
    size_t bucket = bucket_of(pair, tag);
    struct request *receive = find_exact(&buckets->posted[bucket], pair, tag);
    struct request *wildcard = find_wildcard(buckets, pair, tag, receive == NULL ? UINT64_MAX : receive->sequence);
    if (wildcard != NULL)
        receive = wildcard;
    if (receive != NULL) {
        remove_link(&receive->queue);
        return match_request(receive);
    }
    describe_request(message, pair, tag, 0, 0);
    append_link(&buckets->unexpected[bucket], &message->queue);
    append_link(&buckets->all_unexpected, &message->all);
    return queued;
}

static const struct matcher ucx_matcher = {"c:ucx", create_buckets, free, post_to_buckets, arrive_at_buckets};
