/* Stand-in `c:rank_array`: in each communicator two queues per source and a queue of any-source receives, as
 * in Open MPI's ob1. A message scans both queues of receives together, by sequence numbers. An any-source
 * receive searches the sources in turn, starting after the source of the last such match, and stops at the
 * first match. It takes the oldest message of that source, as MPI demands, and not always the oldest of all.
 */

struct peer {
    struct link posted, unexpected;
};

struct communicator {
    struct peer **peers; /* by source; NULL until the first message or receive */
    size_t peer_count;
    size_t last_source; /* of the last message that an any-source receive took */
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

/* Grows a table of pointers to at least `at + 1` entries. */
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

/* Returns true if a receive matches this tag. */
static inline bool accepts_tag(const struct request *receive, uint64_t tag)
{
    return !((receive->tag ^ tag) & ~receive->ignore);
}

static inline uint64_t sequence_at(const struct link *at, const struct link *list)
{
    return at == list ? UINT64_MAX : REQUEST_OF(at, queue)->sequence;
}

/* Finds the oldest receive with this tag in two queues, scanned together in the order of sequence numbers, or NULL. */
static inline struct request *find_receive(struct link *specific, struct link *any_source, uint64_t tag)
{
    struct link *next = specific->next, *next_any = any_source->next;
    uint64_t sequence = sequence_at(next, specific), sequence_any = sequence_at(next_any, any_source);
    while (sequence != sequence_any) { /* both are UINT64_MAX at the ends */
        if (sequence < sequence_any) {
            if (accepts_tag(REQUEST_OF(next, queue), tag))
                return REQUEST_OF(next, queue);
            next = next->next;
            sequence = sequence_at(next, specific);
        } else {
            if (accepts_tag(REQUEST_OF(next_any, queue), tag))
                return REQUEST_OF(next_any, queue);
            next_any = next_any->next;
            sequence_any = sequence_at(next_any, any_source);
        }
    }
    return NULL;
}

/* Finds the oldest message with this tag, in the first of the sources `first` to `end` - 1 that has one, or
 * NULL. */
static struct request *find_message_of_sources(struct communicator *communicator, size_t first, size_t end, uint64_t tag,
                                               uint64_t ignore)
{
    for (size_t source = first; source < end; source++) {
        struct peer *peer = communicator->peers[source];
        struct request *message = peer == NULL ? NULL : find_message(peer, tag, ignore);
        if (message != NULL) {
            communicator->last_source = source;
            return message;
        }
    }
    return NULL;
}

static struct request *find_message_of_any_source(struct communicator *communicator, uint64_t tag, uint64_t ignore)
{
    size_t count = communicator->peer_count, next = communicator->last_source + 1;
    struct request *message = find_message_of_sources(communicator, next, count, tag, ignore);
    return message != NULL ? message
                           : find_message_of_sources(communicator, 0, next < count ? next : count, tag, ignore);
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
    struct request *receive = find_receive(&peer->posted, &communicator->any_source, tag);
    if (receive != NULL) {
        remove_link(&receive->queue);
        return match_request(receive);
    }
    describe_request(message, pair, tag, 0, 0);
    append_link(&peer->unexpected, &message->queue);
    return queued;
}

static const struct matcher rank_array_matcher = {"c:rank_array", create_rank_array, destroy_rank_array,
                                                  post_to_rank_array, arrive_at_rank_array};
