/* Receives, alone and joined with sends (MPI-4.1 §3.2.4, 3.7, 3.9, 3.10), and receives of matched messages (§3.8.3). */

CALL(SIZED(Recv), "cpgbS",
     (void *buffer, COUNT count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status *status),
     (buffer, count, type, rank, tag, comm, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Recv))(buffer, count, type, rank, tag, comm, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(SIZED(Recv))(buffer, count, type, rank, tag, comm, reported);
    if (took_no_message(result))
        return failed(lane, CODE_FAILED(SIZED(Recv)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Recv)), 5, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(rank, tag);
        record[WORD_FIELDS + 2] = bytes_word(lane, type, count);
        FAILED(result) ? put_no_status(record + WORD_FIELDS + 3) : put_status_words(record + WORD_FIELDS + 3, reported);
        commit(lane, record, WORD_FIELDS + 5);
    }
    return leave(lane, result);
}

WITH_REQUEST(SIZED(Irecv), void *)
WITH_REQUEST(SIZED(Recv_init), void *)

CALL(SIZED(Sendrecv), "cpgbpgbS",
     (const void *out, COUNT out_count, MPI_Datatype out_type, int to, int out_tag, void *in, COUNT in_count,
      MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status),
     (out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Sendrecv))(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result =
        REAL(SIZED(Sendrecv))(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, reported);
    if (took_no_message(result))
        return failed(lane, CODE_FAILED(SIZED(Sendrecv)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Sendrecv)), 7, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(to, out_tag);
        record[WORD_FIELDS + 2] = bytes_word(lane, out_type, out_count);
        record[WORD_FIELDS + 3] = envelope_word(from, in_tag);
        record[WORD_FIELDS + 4] = bytes_word(lane, in_type, in_count);
        FAILED(result) ? put_no_status(record + WORD_FIELDS + 5) : put_status_words(record + WORD_FIELDS + 5, reported);
        commit(lane, record, WORD_FIELDS + 7);
    }
    return leave(lane, result);
}

CALL(SIZED(Sendrecv_replace), "cpgbpgbS",
     (void *buffer, COUNT count, MPI_Datatype type, int to, int out_tag, int from, int in_tag, MPI_Comm comm,
      MPI_Status *status),
     (buffer, count, type, to, out_tag, from, in_tag, comm, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Sendrecv_replace))(buffer, count, type, to, out_tag, from, in_tag, comm, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(SIZED(Sendrecv_replace))(buffer, count, type, to, out_tag, from, in_tag, comm, reported);
    if (took_no_message(result))
        return failed(lane, CODE_FAILED(SIZED(Sendrecv_replace)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Sendrecv_replace)), 7, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(to, out_tag);
        record[WORD_FIELDS + 2] = record[WORD_FIELDS + 4] = bytes_word(lane, type, count);
        record[WORD_FIELDS + 3] = envelope_word(from, in_tag);
        FAILED(result) ? put_no_status(record + WORD_FIELDS + 5) : put_status_words(record + WORD_FIELDS + 5, reported);
        commit(lane, record, WORD_FIELDS + 7);
    }
    return leave(lane, result);
}

#ifdef MPI_4
CALL(SIZED(Isendrecv), "cpgbpgbq",
     (const void *out, COUNT out_count, MPI_Datatype out_type, int to, int out_tag, void *in, COUNT in_count,
      MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Request *request),
     (out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, request))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Isendrecv))(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm,
                                      request);
    uint64_t entered = ticks();
    int result =
        REAL(SIZED(Isendrecv))(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, request);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(SIZED(Isendrecv)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Isendrecv)), 6, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(to, out_tag);
        record[WORD_FIELDS + 2] = bytes_word(lane, out_type, out_count);
        record[WORD_FIELDS + 3] = envelope_word(from, in_tag);
        record[WORD_FIELDS + 4] = bytes_word(lane, in_type, in_count);
        record[WORD_FIELDS + 5] = request_word(*request);
        commit(lane, record, WORD_FIELDS + 6);
    }
    return leave(lane, result);
}

CALL(SIZED(Isendrecv_replace), "cpgbpgbq",
     (void *buffer, COUNT count, MPI_Datatype type, int to, int out_tag, int from, int in_tag, MPI_Comm comm,
      MPI_Request *request),
     (buffer, count, type, to, out_tag, from, in_tag, comm, request))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Isendrecv_replace))(buffer, count, type, to, out_tag, from, in_tag, comm, request);
    uint64_t entered = ticks();
    int result = REAL(SIZED(Isendrecv_replace))(buffer, count, type, to, out_tag, from, in_tag, comm, request);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(SIZED(Isendrecv_replace)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Isendrecv_replace)), 6, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(to, out_tag);
        record[WORD_FIELDS + 2] = record[WORD_FIELDS + 4] = bytes_word(lane, type, count);
        record[WORD_FIELDS + 3] = envelope_word(from, in_tag);
        record[WORD_FIELDS + 5] = request_word(*request);
        commit(lane, record, WORD_FIELDS + 6);
    }
    return leave(lane, result);
}
#endif

CALL(SIZED(Mrecv), "mbS", (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
     (buffer, count, type, message, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Mrecv))(buffer, count, type, message, status);
    uint64_t taken = message_word(*message);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(SIZED(Mrecv))(buffer, count, type, message, reported);
    if (took_no_message(result))
        return failed(lane, CODE_FAILED(SIZED(Mrecv)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Mrecv)), 4, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = taken;
        record[WORD_FIELDS + 1] = bytes_word(lane, type, count);
        FAILED(result) ? put_no_status(record + WORD_FIELDS + 2) : put_status_words(record + WORD_FIELDS + 2, reported);
        commit(lane, record, WORD_FIELDS + 4);
    }
    return leave(lane, result);
}

CALL(SIZED(Imrecv), "mbq", (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
     (buffer, count, type, message, request))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(SIZED(Imrecv))(buffer, count, type, message, request);
    uint64_t taken = message_word(*message);
    uint64_t entered = ticks();
    int result = REAL(SIZED(Imrecv))(buffer, count, type, message, request);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(SIZED(Imrecv)), entered, result);
    uint64_t *record = begin(lane, CODE(SIZED(Imrecv)), 3, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = taken;
        record[WORD_FIELDS + 1] = bytes_word(lane, type, count);
        record[WORD_FIELDS + 2] = request_word(*request);
        commit(lane, record, WORD_FIELDS + 3);
    }
    return leave(lane, result);
}
