/* Times searches of the MPI library over a link: one process sends, one receives. Both may be the calling process.
 *
 * The cost of the entries is the difference between a search in a long queue and a search in an empty queue. */

/* Polls after which a waiting process yields the processor, because its peer may need it. */
#define SEARCH_POLLS 50

enum search_tag { SEARCH_GO, SEARCH_LAST, SEARCH_FIRST };
enum search_kind { SEARCH_POSTED, SEARCH_POSTED_ANY, SEARCH_UNEXPECTED, SEARCH_UNEXPECTED_ANY, SEARCH_KINDS };

struct search_link {
    MPI_Comm comm; /* returns errors */
    int peer;
    bool receives, sends; /* both: the peer is the process itself */
    char in, out;
    int filled, drained;       /* unexpected entries sent, and entries received by search_drain */
    uint64_t patience;         /* ticks that a message may take to pass unexpected entries; 0: no limit */
    bool is_stuck;             /* a message took longer, or a call failed: the costs are not valid */
    MPI_Request *requests;     /* space for the entries of the longest queue */
    const int *order;          /* order in which search_empty removes entries; NULL: first in, first out */
    MPI_Request *kept;         /* where search_empty keeps completed receives; NULL: it frees them */
    void (*cool_caches)(void); /* called before each search; NULL: caches stay warm */
};

static inline bool search_is_posted(enum search_kind kind)
{
    return kind == SEARCH_POSTED || kind == SEARCH_POSTED_ANY;
}

static int search_source(const struct search_link *link, enum search_kind kind)
{
    return kind == SEARCH_POSTED_ANY || kind == SEARCH_UNEXPECTED_ANY ? MPI_ANY_SOURCE : link->peer;
}

static void search_send(struct search_link *link, int tag)
{
    REAL(Send)(&link->out, 1, library.byte, link->peer, tag, link->comm);
}

static void search_yield(int *polls)
{
    if (++*polls % SEARCH_POLLS == 0)
        sched_yield();
}

/* In some libraries, blocking calls keep the processor while they wait. */
static void search_await(MPI_Request *request)
{
    int found = 0, polls = 0;
    while (!FAILED(REAL(Test)(request, &found, MPI_STATUS_IGNORE)) && !found)
        search_yield(&polls);
}

static void search_receive(struct search_link *link, int tag)
{
    MPI_Request request = library.request_null;
    REAL(Irecv)(&link->in, 1, library.byte, link->peer, tag, link->comm, &request);
    search_await(&request);
}

/* Adds entries that no timed search matches. */
static void search_fill(struct search_link *link, enum search_kind kind, int from, int to)
{
    link->filled = to;
    for (int i = from; i < to; i++)
        if (search_is_posted(kind) && link->receives)
            REAL(Irecv)(&link->in, 1, library.byte, search_source(link, kind), SEARCH_FIRST + i, link->comm,
                        &link->requests[i]);
        else if (!search_is_posted(kind) && link->sends)
            REAL(Isend)(&link->out, 1, library.byte, link->peer, SEARCH_FIRST + i, link->comm, &link->requests[i]);
}

/* Completes a receive, and frees or keeps it. */
static void search_complete(struct search_link *link, MPI_Request *request)
{
    int found = 0, polls = 0;
    if (link->kept == NULL) {
        search_await(request);
        return;
    }
    while (!FAILED(REAL(Request_get_status)(*request, &found, MPI_STATUS_IGNORE)) && !found)
        search_yield(&polls);
    *link->kept++ = *request;
}

/* Removes the entries that search_fill added. */
static void search_empty(struct search_link *link, enum search_kind kind, int length)
{
    for (int i = 0; i < length && link->receives; i++) {
        int at = link->order != NULL ? link->order[i] : i;
        if (search_is_posted(kind)) {
            REAL(Cancel)(&link->requests[at]);
            search_complete(link, &link->requests[at]);
        } else if (at >= link->drained) {
            REAL(Irecv)(&link->in, 1, library.byte, link->peer, SEARCH_FIRST + at, link->comm, &link->requests[at]);
            search_complete(link, &link->requests[at]);
        }
    }
    link->filled = link->drained = 0;
    for (int i = 0; i < length && !search_is_posted(kind) && link->sends; i++)
        REAL(Wait)(&link->requests[i], MPI_STATUS_IGNORE);
}

/* Receives the unexpected entries, so that a message behind them arrives. */
static void search_drain(struct search_link *link)
{
    link->is_stuck = true;
    while (link->drained < link->filled)
        search_receive(link, SEARCH_FIRST + link->drained++);
}

static uint64_t search_fail(struct search_link *link)
{
    link->is_stuck = true;
    return UINT64_MAX;
}

/* The message arrives after its receive was posted. The test that finds the message has searched. A message to the process
 * itself may be matched while it is sent. `was_early`: the first test found the message, so an earlier call may have
 * searched. */
static uint64_t search_time_posted(struct search_link *link, enum search_kind kind, bool *was_early)
{
    MPI_Request request = library.request_null, message = library.request_null;
    uint64_t took;
    int found = 0, polls = 0;
    bool sends = link->sends;
    REAL(Irecv)(&link->in, 1, library.byte, search_source(link, kind), SEARCH_LAST, link->comm, &request);
    if (!link->sends)
        search_send(link, SEARCH_GO);
    do {
        uint64_t before = ticks();
        if (sends)
            REAL(Isend)(&link->out, 1, library.byte, link->peer, SEARCH_LAST, link->comm, &message);
        sends = false;
        if (FAILED(REAL(Test)(&request, &found, MPI_STATUS_IGNORE)))
            return search_fail(link);
        took = ticks() - before;
        search_yield(&polls);
    } while (!found);
    if (link->sends)
        REAL(Wait)(&message, MPI_STATUS_IGNORE);
    *was_early = polls == 1 && !link->sends;
    return took;
}

/* Waits for a receive of SEARCH_LAST. A receive from any source may never find its message in MPICH over UCX, also without
 * a measurement: another receive then takes the message. */
static void search_await_last(struct search_link *link, MPI_Request *request)
{
    int found = 0, polls = 0;
    uint64_t since = ticks();
    while (!FAILED(REAL(Test)(request, &found, MPI_STATUS_IGNORE)) && !found) {
        if (link->patience != 0 && ticks() - since > link->patience) {
            link->is_stuck = true;
            REAL(Cancel)(request);
            REAL(Wait)(request, MPI_STATUS_IGNORE);
            search_receive(link, SEARCH_LAST);
            return;
        }
        search_yield(&polls);
    }
}

/* The message arrives before its receive is posted. The receive searches. A second message, which an earlier receive
 * accepts, shows that the first has arrived: unlike a probe, this does not search. */
static uint64_t search_time_unexpected(struct search_link *link, enum search_kind kind)
{
    MPI_Request arrival = library.request_null, request = arrival, messages[2] = {arrival, arrival};
    char arrived;
    int found = 0, polls = 0;
    REAL(Irecv)(&arrived, 1, library.byte, link->peer, SEARCH_GO, link->comm, &arrival);
    if (link->sends) {
        REAL(Isend)(&link->out, 1, library.byte, link->peer, SEARCH_LAST, link->comm, &messages[0]);
        REAL(Isend)(&link->out, 1, library.byte, link->peer, SEARCH_GO, link->comm, &messages[1]);
    } else {
        search_send(link, SEARCH_GO);
    }
    uint64_t since = ticks();
    for (;;) {
        if (FAILED(REAL(Test)(&arrival, &found, MPI_STATUS_IGNORE)))
            return search_fail(link);
        if (found)
            break;
        if (link->patience != 0 && link->drained < link->filled && ticks() - since > link->patience)
            search_drain(link);
        search_yield(&polls);
    }
    if (link->cool_caches != NULL)
        link->cool_caches();
    uint64_t before = ticks();
    REAL(Irecv)(&link->in, 1, library.byte, search_source(link, kind), SEARCH_LAST, link->comm, &request);
    uint64_t took = ticks() - before;
    search_await_last(link, &request);
    for (int i = 0; i < 2 && link->sends; i++)
        REAL(Wait)(&messages[i], MPI_STATUS_IGNORE);
    return took;
}

/* Returns the ticks of the shortest search, because host load only adds time. Both ends of the link call this
 * function. */
static uint64_t search_time(struct search_link *link, enum search_kind kind, int repeats)
{
    uint64_t shortest = UINT64_MAX, shortest_early = UINT64_MAX;
    for (int i = 0; i < repeats; i++) {
        bool was_early = false;
        if (!link->receives) {
            search_receive(link, SEARCH_GO);
            search_send(link, SEARCH_LAST);
            if (!search_is_posted(kind))
                search_send(link, SEARCH_GO);
            continue;
        }
        if (link->cool_caches != NULL && search_is_posted(kind))
            link->cool_caches();
        uint64_t took = search_is_posted(kind) ? search_time_posted(link, kind, &was_early)
                                               : search_time_unexpected(link, kind);
        uint64_t *least = was_early ? &shortest_early : &shortest;
        *least = took < *least ? took : *least;
    }
    return shortest != UINT64_MAX ? shortest : shortest_early;
}
