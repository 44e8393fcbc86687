/* Requests as in an MPI library: objects of 256 bytes from a pool. The most recently returned one is taken
 * first. The id of a receive or message is the address of its request. */

/* Intrusive links of a circular list. The head is an element, so no operation has a special case. */
struct link {
    struct link *next, *previous;
};

struct request {
    struct link queue; /* in the queue that a search with all words scans */
    struct link all;   /* in the list of all unexpected messages */
    uint64_t pair, tag, ignore;
    uint64_t pair_mask; /* of a receive: the bits of `pair` that count */
    uint64_t sequence;  /* when it was queued */
    uint32_t number;    /* of the script */
    uint32_t completions;
    char payload[176]; /* what else a request contains: buffer, datatype, callbacks */
};

_Static_assert(sizeof(struct request) == 256, "a request has four cache lines");

#define REQUEST_OF(address, member) ((struct request *)((char *)(address) - offsetof(struct request, member)))

#define SOURCE_BITS UINT64_C(0xffffffff)

static inline bool has_any_source(uint64_t pair)
{
    return (pair & SOURCE_BITS) == MP_ANY_SOURCE;
}

static inline uint64_t pair_mask_of(uint64_t pair)
{
    return has_any_source(pair) ? ~SOURCE_BITS : ~UINT64_C(0);
}

/* Writes the words of a request. */
static inline void write_words(struct request *request, uint64_t pair, uint64_t tag, uint64_t ignore)
{
    request->pair = pair;
    request->tag = tag;
    request->ignore = ignore;
}

/* Writes what a stand-in reads of a queued request. */
static inline void describe_request(struct request *request, uint64_t pair, uint64_t tag, uint64_t ignore,
                                    uint64_t sequence)
{
    write_words(request, pair, tag, ignore);
    request->pair_mask = pair_mask_of(pair);
    request->sequence = sequence;
}

static inline bool receive_matches(const struct request *receive, uint64_t pair, uint64_t tag)
{
    return !((receive->tag ^ tag) & ~receive->ignore) && !((receive->pair ^ pair) & receive->pair_mask);
}

static inline bool message_matches(const struct request *message, uint64_t pair, uint64_t pair_mask, uint64_t tag,
                                   uint64_t ignore)
{
    return !((message->tag ^ tag) & ~ignore) && !((message->pair ^ pair) & pair_mask);
}

static inline mp_outcome match_request(struct request *request)
{
    return (mp_outcome){(uint64_t)(uintptr_t)request, MP_MATCHED};
}

static const mp_outcome queued = {0, MP_QUEUED};

static inline void init_list(struct link *list)
{
    list->next = list->previous = list;
}

static inline void append_link(struct link *list, struct link *link)
{
    link->next = list;
    link->previous = list->previous;
    list->previous->next = link;
    list->previous = link;
}

static inline void remove_link(struct link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

#define FOR_EACH_LINK(at, list) for (struct link *at = (list)->next; at != (list); at = at->next)

struct pool {
    struct request *memory;
    struct request **free;
    size_t free_count;
};

enum {
    PAGE = 4096,
    SPARE = 2, /* places of `free` for requests that a wrong answer returns once more */
};

static void destroy_pool(struct pool *pool)
{
    free(pool->memory);
    free(pool->free);
}

static bool create_pool(struct pool *pool, size_t count)
{
    size_t bytes = (count * sizeof(struct request) + PAGE - 1) / PAGE * PAGE;
    pool->memory = aligned_alloc(PAGE, bytes);
    pool->free = malloc((count + SPARE) * sizeof *pool->free);
    pool->free_count = count;
    if (pool->memory == NULL || pool->free == NULL)
        return false;
    memset(pool->memory, 0, bytes);
    for (size_t at = 0; at < count; at++)
        pool->free[at] = &pool->memory[count - 1 - at];
    return true;
}

static inline struct request *take_request(struct pool *pool, uint32_t number)
{
    if (pool->free_count == 0)
        abort(); /* an engine keeps requests that it should have matched */
    struct request *request = pool->free[--pool->free_count];
    request->number = number;
    return request;
}

/* Completion writes the request once. A second write, to another cache line, took 2 to 9 ns per message. */
static inline void return_request(struct pool *pool, struct request *request)
{
    request->completions++;
    pool->free[pool->free_count++] = request;
}
