/* Collective operations (MPI-4.1 §6, 8.6): the blocking, nonblocking and persistent form from one line.
 *
 * Lengths are recorded only if the standard makes them significant at every process. An insignificant datatype may
 * be invalid: a query of its size would raise an error in the application. */

#ifndef LARGE
#define UNPACK(...) __VA_ARGS__

static inline uint64_t *begin_collective(struct lane *lane, uint64_t code, uint64_t entered, uint64_t left, MPI_Comm comm,
                                         int root, uint64_t bytes)
{
    uint64_t *record = begin(lane, code, 4, entered, left);
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = (uint64_t)(int64_t)(root >= 0 ? root : -1);
        record[WORD_FIELDS + 2] = bytes;
    }
    return record;
}

#define BLOCKING_COLLECTIVE(NAME, COMM, ROOT, BYTES, P, A)                                               \
    CALL(NAME, "cib", P, A)                                                                              \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME) A;                                                                         \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME) A;                                                                       \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin_collective(lane, CODE(NAME), entered, ticks(), COMM, ROOT, BYTES);      \
        if (record != NULL)                                                                              \
            commit(lane, record, WORD_FIELDS + 3);                                                       \
        return leave(lane, result);                                                                      \
    }

#define COLLECTIVE_WITH_REQUEST(NAME, COMM, ROOT, BYTES, P, A)                                           \
    CALL(NAME, "cibq", P, A)                                                                             \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME) A;                                                                         \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME) A;                                                                       \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin_collective(lane, CODE(NAME), entered, ticks(), COMM, ROOT, BYTES);      \
        if (record != NULL) {                                                                            \
            record[WORD_FIELDS + 3] = request_word(*request);                                            \
            commit(lane, record, WORD_FIELDS + 4);                                                       \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

#ifdef MPI_4
#define PERSISTENT_COLLECTIVE(NAME, COMM, ROOT, BYTES, P, A)                                             \
    COLLECTIVE_WITH_REQUEST(NAME, COMM, ROOT, BYTES, (UNPACK P, MPI_Info info, MPI_Request *request),    \
                            (UNPACK A, info, request))
#else
#define PERSISTENT_COLLECTIVE(NAME, COMM, ROOT, BYTES, P, A)
#endif

#define COLLECTIVE(NAME, INAME, NAME_INIT, COMM, ROOT, BYTES, P, A)                                      \
    BLOCKING_COLLECTIVE(NAME, COMM, ROOT, BYTES, P, A)                                                   \
    COLLECTIVE_WITH_REQUEST(INAME, COMM, ROOT, BYTES, (UNPACK P, MPI_Request *request), (UNPACK A, request)) \
    PERSISTENT_COLLECTIVE(NAME_INIT, COMM, ROOT, BYTES, P, A)

/* Returns a length plus one, as `bytes_word`. 0: the arguments are insignificant. */
static inline uint64_t bytes_unless(struct lane *lane, bool insignificant, MPI_Datatype type, MPI_Count count)
{
    return insignificant || count == 0 ? !insignificant : bytes_word(lane, type, count);
}

static inline MPI_Count comm_size(MPI_Comm comm)
{
    int size = 1;
    REAL(Comm_size)(comm, &size);
    return size;
}

/* Returns the number of receiving processes. On an intercommunicator, they are in the other group (MPI-4.1 §6.8). */
static inline MPI_Count peers_of(MPI_Comm comm)
{
    int inter = 0, size = 1;
    REAL(Comm_test_inter)(comm, &inter);
    if (!inter)
        return comm_size(comm);
    REAL(Comm_remote_size)(comm, &size);
    return size;
}

#endif

static inline MPI_Count SIZED(sum_of)(const COUNT counts[], MPI_Count processes)
{
    MPI_Count sum = 0;
    for (MPI_Count i = 0; i < processes; i++)
        sum += counts[i];
    return sum;
}

#include "../common/collectives.h"
