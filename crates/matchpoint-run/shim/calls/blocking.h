/* Calls that may block without progress of the engine: collective operations, one-sided communication, files,
 * constructors of communicators, dynamic processes. Receives with a sender that may wait are given
 * back first. */

static __attribute__((noinline)) void enter_blocking(void)
{
    lock();
    write_requested_dump();
    give_back();
    overflow.blocked_threads++;
    unlock();
}

static __attribute__((noinline)) void leave_blocking(void)
{
    lock();
    overflow.blocked_threads--;
    unlock();
}

#define BLOCKING(NAME, P, A)                                                                             \
    CALL(NAME, P, A)                                                                                     \
    {                                                                                                    \
        if (LIKELY(!hot_state.needs_progress))                                                           \
            return REAL(NAME) A;                                                                         \
        enter_blocking();                                                                                \
        int result = REAL(NAME) A;                                                                       \
        leave_blocking();                                                                                \
        return result;                                                                                   \
    }

#define NONBLOCKING(NAME, P, A)                                                                          \
    CALL(NAME, P, A)                                                                                     \
    {                                                                                                    \
        count_request();                                                                                 \
        return REAL(NAME) A;                                                                             \
    }

#define COLLECTIVE(NAME, INAME, NAME_INIT, COMM, ROOT, BYTES, P, A)                                      \
    BLOCKING(NAME, P, A)                                                                                 \
    NONBLOCKING(INAME, (UNPACK P, MPI_Request *request), (UNPACK A, request))
#define PLAIN BLOCKING

/* Lets the library match all messages from now on, except those in the engine. */
static void disable_overflow(enum core_off why)
{
    overflow.counts.off = why;
    give_back_all();
    overflow.may_watch = overflow.takes_all = overflow.watches_always = false;
    overflow.is_disabled = true;
    overflow.has_measured_limit = false;
    hot_state.limit_named = hot_state.limit_any = LONG_MAX;
    overflow.counts.limit_named = overflow.counts.limit_any = -1;
}

/* Intel MPI (2021.18) crashes in MPI_Improbe on communicators with processes of another MPI_COMM_WORLD. Overflow is
 * off in programs that have such communicators. */
#if defined(I_MPI_VERSION)
#define PROBE_CRASHES true
#else
#define PROBE_CRASHES false
#endif

/* Open MPI implements these functions with messages on the program's communicator and tag: see eager.h. */
#if defined(OPEN_MPI)
#define LOSES_MESSAGES true
#else
#define LOSES_MESSAGES false
#endif

/* Returns whether a function creates a communicator with processes of another MPI_COMM_WORLD. */
static inline bool connects_processes(const char *name)
{
    return strcmp(name, "Comm_spawn") == 0 || strcmp(name, "Comm_spawn_multiple") == 0 || strcmp(name, "Comm_accept") == 0 ||
           strcmp(name, "Comm_connect") == 0 || strcmp(name, "Comm_join") == 0;
}

/* Returns why overflow must be off during and after a call. */
static inline enum core_off off_after(const char *name)
{
    if (LOSES_MESSAGES && (strcmp(name, "Intercomm_create") == 0 || strcmp(name, "Comm_create_group") == 0))
        return CORE_OFF_PROGRAM;
    return PROBE_CRASHES && connects_processes(name) ? CORE_OFF_PROCESSES : CORE_ON;
}

/* Other programs may send synchronously, and their messages may pass the network on one host. */
#define MAKES(NAME, FIELDS, MEMBERS, P, A, ...)                                                          \
    CALL(NAME, P, A)                                                                                     \
    {                                                                                                    \
        if (connects_processes(#NAME))                                                                   \
            overflow.eager_bytes = 0;                                                                    \
        if (LIKELY(!hot_state.needs_progress && off_after(#NAME) == CORE_ON))                            \
            return REAL(NAME) A;                                                                         \
        enter_blocking();                                                                                \
        if (off_after(#NAME) != CORE_ON)                                                                 \
            disable_overflow(off_after(#NAME));                                                          \
        int result = REAL(NAME) A;                                                                       \
        leave_blocking();                                                                                \
        return result;                                                                                   \
    }

#include "common/one_sided.h"
#include "common/communicators.h"
#define COUNT int
#define SIZED(name) name
#include "common/collectives.h"
#include "common/transfers.h"
#include "file.h"
#undef COUNT
#undef SIZED
#if MPI_VERSION >= 4
#define LARGE
#define COUNT MPI_Count
#define SIZED(name) name##_c
#include "common/collectives.h"
#include "common/transfers.h"
#include "file.h"
#undef COUNT
#undef SIZED
#undef LARGE
#endif

BLOCKING(Buffer_detach, (void *buffer, int *size), (buffer, size))
BLOCKING(Comm_set_info, (MPI_Comm comm, MPI_Info info), (comm, info))
BLOCKING(Win_set_info, (MPI_Win win, MPI_Info info), (win, info))
#if MPI_VERSION >= 4
BLOCKING(Buffer_detach_c, (void *buffer, MPI_Count *size), (buffer, size))
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
BLOCKING(Comm_flush_buffer, (MPI_Comm comm), (comm))
BLOCKING(Session_flush_buffer, (MPI_Session session), (session))
BLOCKING(Comm_detach_buffer, (MPI_Comm comm, void *buffer, int *size), (comm, buffer, size))
BLOCKING(Session_detach_buffer, (MPI_Session session, void *buffer, int *size), (session, buffer, size))
BLOCKING(Comm_detach_buffer_c, (MPI_Comm comm, void *buffer, MPI_Count *size), (comm, buffer, size))
BLOCKING(Session_detach_buffer_c, (MPI_Session session, void *buffer, MPI_Count *size), (session, buffer, size))

/* Without CALL, because the function has no parameters. */
FUNCTION(Buffer_flush, "MPI_Buffer_flush", NULL);
EXPORT int MPI_Buffer_flush(void);
EXPORT int PMPI_Buffer_flush(void);

int MPI_Buffer_flush(void)
{
    enter_blocking();
    int result = REAL(Buffer_flush)();
    leave_blocking();
    return result;
}

int PMPI_Buffer_flush(void)
{
    return MPI_Buffer_flush();
}
#endif

/* A matched message keeps the library's communicator until it is received. If its data has not arrived, the scratch
 * buffer stays allocated: the library writes it later. */
static void discard_message(struct message *message)
{
    int bytes = 0, arrived = 0;
    MPI_Request request;
    REAL(Get_count)(&message->status, library.packed, &bytes);
    void *scratch = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL; /* negative: MPI_UNDEFINED, longer than an int */
    if (scratch != NULL && REAL(Imrecv)(scratch, bytes, library.packed, &message->handle, &request) == MPI_SUCCESS) {
        if (REAL(Test)(&request, &arrived, MPI_STATUS_IGNORE) == MPI_SUCCESS && arrived)
            free(scratch);
        else
            REAL(Request_free)(&request);
    }
    return_message(message);
}

/* A freed communicator: the library completes its receives, and its messages are lost, as without overflow. */
static void append_message(void *end, uint64_t id)
{
    struct message ***last = end, *message = (struct message *)(uintptr_t)id;
    message->next = NULL;
    **last = message;
    *last = &message->next;
}

static void discard_messages(struct communicator *communicator)
{
    struct message *first = NULL, **last = &first;
    if (communicator->unexpected == 0)
        return;
    overflow.functions->visit(overflow.core, CORE_UNEXPECTED, append_message, &last);
    for (struct message *message = first, *next; message != NULL; message = next) {
        next = message->next;
        if (message->communicator == communicator)
            discard_message(message);
    }
    overflow.unexpected -= communicator->unexpected;
}

/* Frees the record of a freed communicator without persistent receives. */
static void release_communicator(struct communicator *communicator)
{
    discard_messages(communicator);
    overflow.functions->close_context(overflow.core, communicator->context);
    for (size_t i = 0; i <= map.mask && overflow.active > 0; i++)
        if (map.slots[i] != NULL && map.slots[i]->communicator == communicator)
            map.slots[i]->communicator = NULL;
    free(communicator);
    set_paths();
}

/* Removes a communicator from the table. If a persistent receive can still start, the record stays until its request
 * is freed. */
static __attribute__((noinline)) void remove_communicator(struct communicator *communicator)
{
    struct communicator **slot = communicator_slot(communicator->handle);
    while (*slot != communicator)
        slot = &(*slot)->chain;
    *slot = communicator->chain;
    if (communicators.last == communicator)
        communicators.last = NULL;
    overflow.watched -= communicator->watched;
    communicator->watched = false;
    communicator->is_freed = true;
    set_paths();
    if (communicator->persistent == 0)
        release_communicator(communicator);
}

/* The record is removed after the call: attribute callbacks may receive on the communicator, and the call may fail. */
#define ENDS_COMMUNICATOR(NAME)                                                                          \
    CALL(NAME, (MPI_Comm * comm), (comm))                                                                \
    {                                                                                                    \
        lock();                                                                                          \
        struct communicator *known = overflow.core != NULL ? known_communicator(*comm) : NULL;           \
        if (known != NULL && known->queued > 0)                                                          \
            give_back_all();                                                                             \
        give_back();                                                                                     \
        overflow.blocked_threads++;                                                                      \
        unlock();                                                                                        \
        int result = REAL(NAME)(comm);                                                                   \
        lock();                                                                                          \
        overflow.blocked_threads--;                                                                      \
        if (known != NULL && *comm == library.comm_null) {                                               \
            if (known->queued > 0) /* by a callback */                                                   \
                give_back_all();                                                                         \
            remove_communicator(known);                                                                  \
        }                                                                                                \
        unlock();                                                                                        \
        return result;                                                                                   \
    }

ENDS_COMMUNICATOR(Comm_free)
ENDS_COMMUNICATOR(Comm_disconnect)

/* A receive of the engine needs its datatype until the match. The library keeps the datatypes of its receives. */
static bool needs_type(MPI_Datatype type)
{
    for (size_t i = 0; i <= map.mask; i++)
        if (map.slots[i] != NULL && map.slots[i]->state == RECEIVE_QUEUED && map.slots[i]->type == type)
            return true;
    return false;
}

CALL(Type_free, (MPI_Datatype * type), (type))
{
    lock();
    struct type *known = type_slot(*type);
    known->is_known &= known->type != *type;
    if (overflow.derived > 0 && needs_type(*type))
        give_back_all();
    unlock();
    return REAL(Type_free)(type);
}
