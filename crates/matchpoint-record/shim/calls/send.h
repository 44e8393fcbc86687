/* Sends of all modes: blocking, nonblocking, persistent (MPI-4.1 §3.2, 3.4, 3.7, 3.9) and partitioned (§4). */

#define BLOCKING_SEND(NAME)                                                                              \
    CALL(NAME, "cpgb", (const void *buffer, COUNT count, MPI_Datatype type, int rank, int tag, MPI_Comm comm), \
         (buffer, count, type, rank, tag, comm))                                                         \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(buffer, count, type, rank, tag, comm);                                     \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(buffer, count, type, rank, tag, comm);                                   \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin(lane, CODE(NAME), 3, entered, ticks());                                 \
        if (record != NULL) {                                                                            \
            record[WORD_FIELDS] = comm_word(comm);                                                       \
            record[WORD_FIELDS + 1] = envelope_word(rank, tag);                                          \
            record[WORD_FIELDS + 2] = bytes_word(lane, type, count);                                     \
            commit(lane, record, WORD_FIELDS + 3);                                                       \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

BLOCKING_SEND(SIZED(Send))
BLOCKING_SEND(SIZED(Bsend))
BLOCKING_SEND(SIZED(Ssend))
BLOCKING_SEND(SIZED(Rsend))

/* Calls that start or set up a transfer and return a request. */
#ifndef WITH_REQUEST
#define WITH_REQUEST(NAME, BUFFER)                                                                       \
    CALL(NAME, "cpgbq",                                                                                  \
         (BUFFER buffer, COUNT count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request), \
         (buffer, count, type, rank, tag, comm, request))                                                \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(buffer, count, type, rank, tag, comm, request);                            \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(buffer, count, type, rank, tag, comm, request);                          \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin(lane, CODE(NAME), 4, entered, ticks());                                 \
        if (record != NULL) {                                                                            \
            record[WORD_FIELDS] = comm_word(comm);                                                       \
            record[WORD_FIELDS + 1] = envelope_word(rank, tag);                                          \
            record[WORD_FIELDS + 2] = bytes_word(lane, type, count);                                     \
            record[WORD_FIELDS + 3] = request_word(*request);                                            \
            commit(lane, record, WORD_FIELDS + 4);                                                       \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }
#endif

WITH_REQUEST(SIZED(Isend), const void *)
WITH_REQUEST(SIZED(Ibsend), const void *)
WITH_REQUEST(SIZED(Issend), const void *)
WITH_REQUEST(SIZED(Irsend), const void *)
WITH_REQUEST(SIZED(Send_init), const void *)
WITH_REQUEST(SIZED(Bsend_init), const void *)
WITH_REQUEST(SIZED(Ssend_init), const void *)
WITH_REQUEST(SIZED(Rsend_init), const void *)

#if defined(MPI_4) && !defined(LARGE)
#define PARTITIONED(NAME, BUFFER)                                                                        \
    CALL(NAME, "cpgbq",                                                                                  \
         (BUFFER buffer, int partitions, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, \
          MPI_Info info, MPI_Request *request),                                                          \
         (buffer, partitions, count, type, rank, tag, comm, info, request))                              \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME)(buffer, partitions, count, type, rank, tag, comm, info, request);          \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME)(buffer, partitions, count, type, rank, tag, comm, info, request);        \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin(lane, CODE(NAME), 4, entered, ticks());                                 \
        if (record != NULL) {                                                                            \
            record[WORD_FIELDS] = comm_word(comm);                                                       \
            record[WORD_FIELDS + 1] = envelope_word(rank, tag);                                          \
            record[WORD_FIELDS + 2] = bytes_word(lane, type, partitions * count);                        \
            record[WORD_FIELDS + 3] = request_word(*request);                                            \
            commit(lane, record, WORD_FIELDS + 4);                                                       \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

PARTITIONED(Psend_init, const void *)
PARTITIONED(Precv_init, void *)

#define OF_PARTITION(NAME, PARAMETERS, ARGUMENTS)                                                        \
    CALL(NAME, "q", PARAMETERS, ARGUMENTS)                                                               \
    {                                                                                                    \
        struct lane *lane = enter();                                                                     \
        if (lane == NULL)                                                                                \
            return REAL(NAME) ARGUMENTS;                                                                 \
        uint64_t entered = ticks();                                                                      \
        int result = REAL(NAME) ARGUMENTS;                                                               \
        if (FAILED(result))                                                                              \
            return failed(lane, CODE_FAILED(NAME), entered, result);                                     \
        uint64_t *record = begin(lane, CODE(NAME), 1, entered, ticks());                                 \
        if (record != NULL) {                                                                            \
            record[WORD_FIELDS] = request_word(request);                                                 \
            commit(lane, record, WORD_FIELDS + 1);                                                       \
        }                                                                                                \
        return leave(lane, result);                                                                      \
    }

OF_PARTITION(Pready, (int partition, MPI_Request request), (partition, request))
OF_PARTITION(Pready_range, (int first, int last, MPI_Request request), (first, last, request))
OF_PARTITION(Pready_list, (int length, const int partitions[], MPI_Request request), (length, partitions, request))

CALL(Parrived, "qf", (MPI_Request request, int partition, int *flag), (request, partition, flag))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Parrived)(request, partition, flag);
    uint64_t entered = ticks();
    int result = REAL(Parrived)(request, partition, flag);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Parrived), entered, result);
    uint64_t *record = begin(lane, CODE(Parrived), 2, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = request_word(request);
        record[WORD_FIELDS + 1] = *flag != 0;
        commit(lane, record, WORD_FIELDS + 2);
    }
    return leave(lane, result);
}
#endif
