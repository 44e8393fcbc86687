/* The rules of overflow matching: the destination of receives, and the handling of messages. All functions need the
 * lock. */

static void write_requested_dump(void);
static void check_plugins(void);

/* A message in the engine. */
struct message {
    MPI_Message handle; /* first, in the cache line that a receive reads: long queues are not in the cache */
    struct communicator *communicator;
    uint64_t number;      /* sequence number in the communicator */
    struct message *next; /* free list */
    uint64_t since;       /* ticks */
    MPI_Status status;
};

static struct message *free_messages;

/* A message for which the engine had no memory. No other message is taken from the library meanwhile. */
static struct message *refused_message;

static struct message *take_message(void)
{
    struct message *message = free_messages;
    if (message == NULL)
        return malloc(sizeof *message);
    free_messages = message->next;
    return message;
}

static void return_message(struct message *message)
{
    message->next = free_messages;
    free_messages = message;
}

static inline struct core_envelope envelope_of(const struct communicator *communicator, int source, int tag)
{
    return (struct core_envelope){communicator->context, source == MPI_ANY_SOURCE ? -1 : source,
                                  tag == MPI_ANY_TAG ? -1 : tag};
}

/* The library's functions for each type of count. */
static int library_irecv(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (count > INT_MAX)
        return REAL(Irecv_c)(buffer, count, type, source, tag, comm, request);
#endif
    return REAL(Irecv)(buffer, (int)count, type, source, tag, comm, request);
}

static int library_recv(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                        MPI_Status *status)
{
#if MPI_VERSION >= 4
    if (count > INT_MAX)
        return REAL(Recv_c)(buffer, count, type, source, tag, comm, status);
#endif
    return REAL(Recv)(buffer, (int)count, type, source, tag, comm, status);
}

static int library_imrecv(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (count > INT_MAX)
        return REAL(Imrecv_c)(buffer, count, type, message, request);
#endif
    return REAL(Imrecv)(buffer, (int)count, type, message, request);
}

/* After a queue of this many times the measured limit, the limit is divided by this number. */
#define LONG_PHASE 8

static inline long limit_after(long measured)
{
    return measured != LONG_MAX && overflow.longest >= LONG_PHASE * measured ? measured / LONG_PHASE : measured;
}

/* Called when the last receive leaves the engine. After a long queue, overflow begins earlier: many programs repeat
 * their communication, and each message is compared with the receives in the library. */
static void adapt_limits(void)
{
    if (overflow.has_measured_limit) {
        hot_state.limit_named = limit_after(overflow.measured_named);
        hot_state.limit_any = limit_after(overflow.measured_any);
    }
    overflow.longest = 0;
}

/* Updates the counts for a receive that leaves the engine. */
static void unqueue(struct receive *receive)
{
    struct communicator *communicator = receive->communicator;
    receive->state = RECEIVE_STARTED;
    overflow.queued--;
    overflow.blocking -= receive->is_blocking;
    overflow.derived -= receive->is_derived;
    if (--communicator->queued == 0)
        leave_ring(communicator);
    if (overflow.queued == 0) {
        adapt_limits();
        set_paths();
    }
}

/* Ends the record of a receive that the program has completed or freed. */
static void finish_receive(struct receive *receive)
{
    if (receive->is_counted)
        uncount(1);
    overflow.active--;
    if (receive->is_persistent) {
        receive->state = RECEIVE_IDLE;
        receive->is_counted = receive->is_truncated = false;
        receive->error = MPI_SUCCESS;
        if (receive->is_released) {
            if (receive->is_derived)
                REAL(Type_free)(&receive->type);
            free(receive);
        }
    } else {
        return_receive(receive);
    }
    if (overflow.active == 0)
        set_paths();
}

static void start_released(struct receive *receive)
{
    if (receive->inner != library.request_null)
        REAL(Request_free)(&receive->inner);
    finish_receive(receive);
}

/* Lets a receive of the engine take a message. */
static void start_receive(struct receive *receive, struct message *message)
{
    unqueue(receive);
    receive->inner = library.request_null;
#if defined(OPEN_MPI)
    receive->is_truncated = message->status._ucount > receive->bytes;
#endif
    receive->error =
        library_imrecv(receive->buffer, receive->count, receive->type, &message->handle, &receive->inner);
    return_message(message);
    if (receive->is_released)
        start_released(receive);
}

/* Adds a message to the engine. False: no memory. */
static bool add_message(struct message *message)
{
    struct communicator *communicator = message->communicator;
    struct core_envelope envelope =
        envelope_of(communicator, message->status.MPI_SOURCE, message->status.MPI_TAG);
    uint64_t receive;
    switch (overflow.functions->arrive(overflow.core, (uint64_t)(uintptr_t)message, &envelope, &receive)) {
    case CORE_MATCHED:
        start_receive((struct receive *)(uintptr_t)receive, message);
        return true;
    case CORE_QUEUED:
        communicator->unexpected++;
        if (overflow.unexpected++ == 0)
            set_paths();
        return true;
    default:
        return false;
    }
}

static void give_back_all(void);

/* Takes messages of a communicator from the library's unexpected queue, until `awaited` (if not NULL) has its
 * message. Returns their number. */
static long drain_until(struct communicator *communicator, const struct receive *awaited)
{
    long taken = 0;
    if (refused_message != NULL) {
        if (!add_message(refused_message))
            return 0;
        refused_message = NULL;
    }
    while (!overflow.is_disabled) {
        int found = 0;
        struct message *message = take_message();
        if (message == NULL)
            return taken;
        int result = REAL(Improbe)(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator->handle, &found, &message->handle,
                                   &message->status);
        if (result != MPI_SUCCESS || !found) {
            return_message(message);
            if (result != MPI_SUCCESS) /* for example a failed process: the library reports it for its receives */
                give_back_all();
            return taken;
        }
        message->communicator = communicator;
        message->number = ++communicator->messages;
        message->since = ticks();
        taken++;
        overflow.counts.taken++;
        if (!add_message(message)) {
            refused_message = message;
            return taken;
        }
        if (awaited != NULL && awaited->state != RECEIVE_QUEUED)
            return taken;
    }
    return taken;
}

static long drain(struct communicator *communicator)
{
    return drain_until(communicator, NULL);
}

/* Takes the message that matches from the engine. NULL: no match. */
static struct message *take_unexpected(struct communicator *communicator, int source, int tag)
{
    struct core_envelope envelope = envelope_of(communicator, source, tag);
    uint64_t id = overflow.functions->take(overflow.core, &envelope);
    if (id == 0)
        return NULL;
    struct message *message = (struct message *)(uintptr_t)id;
    communicator->in_order = message->number == communicator->received + 1 ? communicator->in_order + 1 : 0;
    communicator->received = message->number;
    communicator->unexpected--;
    if (--overflow.unexpected == 0)
        set_paths();
    return message;
}

/* Posts a receive to the engine. False: no memory. */
static bool queue_receive(struct receive *receive)
{
    struct communicator *communicator = receive->communicator;
    struct core_envelope envelope = envelope_of(communicator, receive->source, receive->tag);
    uint64_t message;
    receive->state = RECEIVE_QUEUED;
    receive->inner = library.request_null;
    receive->since = ticks();
    enum core_result result =
        overflow.functions->post(overflow.core, (uint64_t)(uintptr_t)receive, &envelope, &message);
    if (result == CORE_REFUSED) {
        receive->state = RECEIVE_IDLE;
        return false;
    }
    overflow.active++;
    overflow.blocking += receive->is_blocking;
    overflow.derived += receive->is_derived;
    if (communicator->queued++ == 0)
        enter_ring(communicator);
    if (++overflow.queued > overflow.longest)
        overflow.longest = overflow.queued;
    if (result == CORE_MATCHED) {
        struct message *taken = (struct message *)(uintptr_t)message;
        communicator->unexpected--;
        overflow.unexpected--;
        start_receive(receive, taken);
    }
    set_paths();
    return true;
}

/* Removes a receive from the engine. False: the engine does not have it. */
static bool cancel_in_engine(const struct receive *receive)
{
    if (receive->communicator == NULL)
        return false;
    struct core_envelope envelope = envelope_of(receive->communicator, receive->source, receive->tag);
    return overflow.functions->cancel(overflow.core, (uint64_t)(uintptr_t)receive, &envelope);
}

static void append_receive(void *end, uint64_t id)
{
    struct receive ***last = end, *receive = (struct receive *)(uintptr_t)id;
    receive->next = NULL;
    **last = receive;
    *last = &receive->next;
}

/* Given-back receives from which a measured limit may end. */
#define GIVEN_BACK_MANY 4096

/* Ends the limit if nine of ten overflowed receives were given back: they cost time and gain nothing. */
static void stop_useless_overflow(void)
{
    if (!overflow.has_measured_limit || overflow.counts.given_back < GIVEN_BACK_MANY ||
        10 * overflow.counts.given_back < 9 * overflow.counts.overflowed)
        return;
    overflow.has_measured_limit = false;
    hot_state.limit_named = hot_state.limit_any = LONG_MAX;
}

/* Posts all receives of the engine to the library, oldest first. None accepts a message that the engine holds. */
static void give_back_all(void)
{
    struct receive *first = NULL, **last = &first;
    if (overflow.queued == 0)
        return;
    overflow.longest = 0; /* the library will search this queue */
    overflow.functions->visit(overflow.core, CORE_POSTED, append_receive, &last);
    overflow.counts.give_backs++;
    for (struct receive *receive = first, *next; receive != NULL; receive = next) {
        next = receive->next;
        MPI_Comm comm = receive->communicator->handle;
        cancel_in_engine(receive);
        unqueue(receive);
        overflow.counts.given_back++;
        receive->error = library_irecv(receive->buffer, receive->count, receive->type, receive->source, receive->tag, comm,
                                       &receive->inner);
        receive->is_counted = receive->error == MPI_SUCCESS && !receive->is_released;
        if (receive->is_counted)
            count_receive(receive->source);
        if (receive->is_released)
            start_released(receive);
    }
    stop_useless_overflow();
}

/* Called before a call that blocks without progress of the engine: a sender that waits for a receive of the engine
 * might never enter that call. */
static void give_back(void)
{
    if (overflow.queued > 0)
        check_plugins();
    if (overflow.blocking > 0)
        give_back_all();
}

/* Communicators per poll. */
#define COMMUNICATORS_AT_ONCE 8

/* Polls that stop at the awaited message, before a poll of all communicators: their senders may wait too. */
#define BRIEF_POLLS 16

/* Takes messages for the receives of the engine. The communicator of `awaited`, if not NULL, comes first. */
static void make_progress(const struct receive *awaited)
{
    struct communicator *first = awaited != NULL ? awaited->communicator : NULL;
    long taken = 0;
    if (first != NULL && first->queued > 0) {
        bool is_brief = awaited->state == RECEIVE_QUEUED && ++overflow.brief_polls % BRIEF_POLLS != 0;
        taken += drain_until(first, is_brief ? awaited : NULL);
        if (is_brief && awaited->state != RECEIVE_QUEUED) {
            overflow.idle = 0;
            return;
        }
    }
    const struct communicator *start = overflow.busy;
    for (int i = 0; i < COMMUNICATORS_AT_ONCE && overflow.busy != NULL; i++) {
        struct communicator *next = overflow.busy;
        overflow.busy = next->next;
        if (next != first)
            taken += drain(next);
        if (overflow.busy == start) /* the whole ring */
            break;
    }
    if (overflow.takes_all)
        for (size_t i = 0; i < COMMUNICATOR_SLOTS; i++)
            for (struct communicator *all = communicators.slots[i]; all != NULL; all = all->chain)
                taken += drain(all);
    overflow.idle = taken > 0 ? 0 : overflow.idle + 1;
    write_requested_dump();
}

/* Called between polls. If processes share processors, each yields early, as the MPI libraries do. */
static void relax(void)
{
    unlock();
    if (overflow.idle > overflow.polls_before_yield)
        sched_yield();
    lock();
}

/* As `relax`, without the lock. */
static void relax_unlocked(void)
{
    if (overflow.idle++ > overflow.polls_before_yield)
        sched_yield();
}

/* Returns whether the library accepts count, source and tag of a receive. */
static inline bool is_plain(const struct communicator *communicator, MPI_Count count, int source, int tag)
{
    bool known_source = (source >= 0 && source < communicator->sources) || source == MPI_ANY_SOURCE;
    bool known_tag = (tag >= 0 && tag <= overflow.tag_ub) || tag == MPI_ANY_TAG;
    return count >= 0 && known_source && known_tag;
}

/* Datatypes that were valid in a receive, until one is freed. */
#define TYPES 64
struct type {
    MPI_Datatype type;
    uint64_t size;
    bool is_known, is_derived;
};
static struct type types[TYPES];

static inline struct type *type_slot(MPI_Datatype type)
{
    return &types[(AS_WORD(type) * 0x9e3779b97f4a7c15) >> 58];
}

/* Returns whether the library accepts a persistent receive on a communicator that returns errors. The receive is
 * never started. */
static bool is_receive_valid(void *buffer, int count, MPI_Datatype type, MPI_Comm comm)
{
    MPI_Request request;
    bool is_valid = REAL(Recv_init)(buffer, count, type, 0, 0, comm, &request) == MPI_SUCCESS;
    if (is_valid)
        REAL(Request_free)(&request);
    return is_valid;
}

/* Returns whether the library accepts buffer and datatype, without a call of the program's error handler. A program
 * with sessions has no MPI_COMM_SELF: the error handler of `comm` is then replaced for a moment. */
static __attribute__((noinline)) bool is_accepted(void *buffer, int count, MPI_Datatype type, MPI_Comm comm)
{
    MPI_Errhandler handler;
    if (overflow.has_private)
        return is_receive_valid(buffer, count, type, overflow.private);
    if (REAL(Comm_get_errhandler)(comm, &handler) != MPI_SUCCESS)
        return false;
    REAL(Comm_set_errhandler)(comm, library.errors_return);
    bool is_valid = is_receive_valid(buffer, count, type, comm);
    REAL(Comm_set_errhandler)(comm, handler);
    REAL(Errhandler_free)(&handler);
    return is_valid;
}

static __attribute__((noinline)) bool add_type(MPI_Datatype type, MPI_Comm comm, struct type *added)
{
    char nothing;
    int bytes = 0, integers, addresses, datatypes, combiner = 0;
    MPI_Count large = 0;
    added->is_known = false;
    if (!is_accepted(&nothing, 1, type, comm))
        return false;
    REAL(Type_size)(type, &bytes);
    if (bytes < 0 && REAL(Type_size_x)(type, &large) != MPI_SUCCESS) /* MPI_UNDEFINED: larger than an int */
        return false;
    REAL(Type_get_envelope)(type, &integers, &addresses, &datatypes, &combiner);
    *added = (struct type){type, bytes < 0 ? (uint64_t)large : (uint64_t)bytes, true, combiner != MPI_COMBINER_NAMED};
    return true;
}

/* NULL: the library rejects the datatype. */
static inline const struct type *find_type(MPI_Datatype type, MPI_Comm comm)
{
    struct type *found = type_slot(type);
    if (LIKELY(found->is_known && found->type == type))
        return found;
    return add_type(type, comm, found) ? found : NULL;
}

/* The destination of a receive. */
enum destination { TO_LIBRARY, TO_MESSAGE, TO_ENGINE };

static void observe_posting(struct communicator *communicator);

static inline bool finds_message(struct communicator *communicator, int source, int tag, struct message **message)
{
    return communicator->unexpected > 0 && (*message = take_unexpected(communicator, source, tag)) != NULL;
}

/* The engine has the oldest messages. The library is polled only without a match there: a poll that finds no message
 * may yield the processor. */
static enum destination choose_destination(struct communicator *communicator, int source, int tag, struct message **message)
{
    if (overflow.takes_all)
        drain(communicator);
    if (finds_message(communicator, source, tag, message))
        return TO_MESSAGE;
    if (communicator->watched || hot_state.limit_named == 0 || overflow.watches_always) {
        observe_posting(communicator);
        if (finds_message(communicator, source, tag, message))
            return TO_MESSAGE;
    }
    return communicator->queued == 0 && is_below_limit(source) ? TO_LIBRARY : TO_ENGINE;
}

static void evaluate_sample(uint64_t took, MPI_Comm comm);

static int post_to_library(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                           MPI_Request *request)
{
    bool is_sample = --hot_state.until_sample <= 0;
    uint64_t before = is_sample ? ticks() : 0;
    int result = library_irecv(buffer, count, type, source, tag, comm, request);
    if (result == MPI_SUCCESS)
        count_receive(source);
    if (is_sample)
        evaluate_sample(ticks() - before, comm);
    return result;
}

static bool is_sender_blocking(uint64_t bytes)
{
    return overflow.synchronous || overflow.eager_bytes == 0 || bytes > overflow.eager_bytes;
}

/* Returns communicator and datatype of a receive that the engine may take. NULL: the library must handle the
 * receive, because it is from MPI_PROC_NULL or has an invalid argument. */
static inline struct communicator *check_receive(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                                 MPI_Comm comm, const struct type **known)
{
    struct communicator *communicator;
    if (source == MPI_PROC_NULL || overflow.core == NULL || (communicator = find_communicator(comm)) == NULL ||
        !is_plain(communicator, count, source, tag) || (*known = find_type(type, comm)) == NULL ||
        (buffer == NULL && count > 0 && !is_accepted(NULL, 1, type, comm)))
        return NULL;
    return communicator;
}

/* Posts a receive to its destination, with the lock held. */
static __attribute__((noinline)) int post_receive(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                                  MPI_Comm comm, MPI_Request *request)
{
    struct message *message;
    const struct type *known;
    hot_state.receives++;
    struct communicator *communicator = check_receive(buffer, count, type, source, tag, comm, &known);
    if (communicator == NULL)
        return post_to_library(buffer, count, type, source, tag, comm, request);
    enum destination destination = choose_destination(communicator, source, tag, &message);
    if (destination == TO_MESSAGE) {
        overflow.counts.overflowed++;
        count_request();
        int result = library_imrecv(buffer, count, type, &message->handle, request);
        return_message(message);
        return result;
    }
    struct receive *receive = NULL;
    uint64_t bytes = known->size * (uint64_t)count;
    bool is_blocking = is_sender_blocking(bytes);
    if (destination == TO_ENGINE && !(overflow.blocked_threads > 0 && is_blocking) && (receive = take_receive()) != NULL) {
        receive->buffer = buffer;
        receive->count = count;
        receive->type = type;
        receive->communicator = communicator;
        receive->source = source;
        receive->tag = tag;
        receive->is_blocking = is_blocking;
        receive->is_derived = known->is_derived;
        receive->bytes = bytes;
        if (queue_receive(receive)) {
            overflow.counts.overflowed++;
            *request = receive->handle;
            return MPI_SUCCESS;
        }
        return_receive(receive);
    }
    if (destination == TO_ENGINE)
        give_back_all();
    return post_to_library(buffer, count, type, source, tag, comm, request);
}
