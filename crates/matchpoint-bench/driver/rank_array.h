/* Stand-in `c:rank_array`: in each communicator two queues for each source, and a queue of receives from any source, as Open
 * MPI's ob1 has them. Sequence numbers order both queues of receives. A receive from any source takes the oldest message, so
 * it searches all sources. (ob1 stops at the first source that has a match.) */

struct peer {
    struct link posted, unexpected;
};

struct communicator {
    struct peer **peers; /* by source; NULL until the first message or receive */
    size_t peer_count;
    struct link any_source;
};

struct rank_array {
    struct communicator **communicators; /* by context */
    size_t communicator_count;
    uint64_t sequence;
};

static void *create_rank_array(void)
{
    return calloc(1, sizeof(struct rank_array));
}

static void destroy_communicator(struct communicator *communicator)
{
    if (communicator == NULL)
        return;
    for (size_t at = 0; at < communicator->peer_count; at++)
        free(communicator->peers[at]);
    free(communicator->peers);
    free(communicator);
}

static void destroy_rank_array(void *state)
{
    struct rank_array *array = state;
    for (size_t at = 0; at < array->communicator_count; at++)
        destroy_communicator(array->communicators[at]);
    free(array->communicators);
    free(array);
}

/* Allocates memory or ends the process, as a benchmark may. */
static void *need_memory(void *memory)
{
    if (memory == NULL) {
        fputs("matchpoint: no memory for a stand-in of the C driver\n", stderr);
        abort();
    }
    return memory;
}

/* Grows a table of pointers so that it has the place `at`. */
static void **grow_table(void **table, size_t *count, size_t at)
{
    size_t longer = *count * 2 > at ? *count * 2 : at + 1;
    table = need_memory(realloc(table, longer * sizeof *table));
    memset(table + *count, 0, (longer - *count) * sizeof *table);
    *count = longer;
    return table;
}

static __attribute__((noinline)) struct communicator *add_communicator(struct rank_array *array, uint32_t context)
{
    if (context >= array->communicator_count)
        array->communicators =
            (struct communicator **)grow_table((void **)array->communicators, &array->communicator_count, context);
    struct communicator *communicator = need_memory(calloc(1, sizeof *communicator));
    init_list(&communicator->any_source);
    return array->communicators[context] = communicator;
}

static inline struct communicator *find_communicator(struct rank_array *array, uint64_t pair)
{
    uint32_t context = (uint32_t)(pair >> 32);
    if (context < array->communicator_count && array->communicators[context] != NULL)
        return array->communicators[context];
    return add_communicator(array, context);
}

static __attribute__((noinline)) struct peer *add_peer(struct communicator *communicator, uint32_t source)
{
    if (source >= communicator->peer_count)
        communicator->peers = (struct peer **)grow_table((void **)communicator->peers, &communicator->peer_count, source);
    struct peer *peer = need_memory(malloc(sizeof *peer));
    init_list(&peer->posted);
    init_list(&peer->unexpected);
    return communicator->peers[source] = peer;
}

static inline struct peer *find_peer(struct communicator *communicator, uint64_t pair)
{
    uint32_t source = (uint32_t)pair;
    if (source < communicator->peer_count && communicator->peers[source] != NULL)
        return communicator->peers[source];
    return add_peer(communicator, source);
}

/* Finds the oldest request of one source's queue, or NULL. Its communicator and source match already. */
static inline struct request *find_message(struct peer *peer, uint64_t tag, uint64_t ignore)
{
    FOR_EACH_LINK(at, &peer->unexpected) {
        struct request *message = REQUEST_OF(at, queue);
        if (!((message->tag ^ tag) & ~ignore))
            return message;
    }
    return NULL;
}

/* Finds the oldest receive of a queue with this tag that is older than `sequence`, or NULL. */
static inline struct request *find_receive(struct link *receives, uint64_t tag, uint64_t sequence)
{
    FOR_EACH_LINK(at, receives) {
        struct request *receive = REQUEST_OF(at, queue);
        if (receive->sequence > sequence)
            return NULL;
        if (!((receive->tag ^ tag) & ~receive->ignore))
            return receive;
    }
    return NULL;
}

static struct request *find_message_of_any_source(struct communicator *communicator, uint64_t tag, uint64_t ignore)
{
    struct request *oldest = NULL;
    for (size_t at = 0; at < communicator->peer_count; at++) {
        struct peer *peer = communicator->peers[at];
        struct request *message = peer == NULL ? NULL : find_message(peer, tag, ignore);
        if (message != NULL && (oldest == NULL || message->sequence < oldest->sequence))
            oldest = message;
    }
    return oldest;
}

static mp_outcome post_to_rank_array(void *state, struct request *receive, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    struct rank_array *array = state;
    struct communicator *communicator = find_communicator(array, pair);
    struct peer *peer = has_any_source(pair) ? NULL : find_peer(communicator, pair);
    struct request *message =
        peer == NULL ? find_message_of_any_source(communicator, tag, ignore) : find_message(peer, tag, ignore);
    if (message != NULL) {
        remove_link(&message->queue);
        return match_request(message);
    }
    describe_request(receive, pair, tag, ignore, array->sequence++);
    append_link(peer == NULL ? &communicator->any_source : &peer->posted, &receive->queue);
    return queued;
}

static mp_outcome arrive_at_rank_array(void *state, struct request *message, uint64_t pair, uint64_t tag)
{
    struct rank_array *array = state;
    struct communicator *communicator = find_communicator(array, pair);
    struct peer *peer = find_peer(communicator, pair);
    struct request *receive = find_receive(&peer->posted, tag, UINT64_MAX);
    struct request *any_source =
        find_receive(&communicator->any_source, tag, receive == NULL ? UINT64_MAX : receive->sequence);
    if (any_source != NULL)
        receive = any_source;
    if (receive != NULL) {
        remove_link(&receive->queue);
        return match_request(receive);
    }
    describe_request(message, pair, tag, 0, array->sequence++);
    append_link(&peer->unexpected, &message->queue);
    return queued;
}

static const struct matcher rank_array_matcher = {"c:rank_array", create_rank_array, destroy_rank_array,
                                                  post_to_rank_array, arrive_at_rank_array};
