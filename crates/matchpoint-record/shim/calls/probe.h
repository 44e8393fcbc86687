/* Probes (MPI-4.1 §3.8). */

CALL(Probe, "cpgS", (int rank, int tag, MPI_Comm comm, MPI_Status *status), (rank, tag, comm, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Probe)(rank, tag, comm, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(Probe)(rank, tag, comm, reported);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Probe), entered, result);
    uint64_t *record = begin(lane, CODE(Probe), 4, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(rank, tag);
        put_status_words(record + WORD_FIELDS + 2, reported);
        commit(lane, record, WORD_FIELDS + 4);
    }
    return leave(lane, result);
}

CALL(Iprobe, "cpgfS", (int rank, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (rank, tag, comm, flag, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Iprobe)(rank, tag, comm, flag, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(Iprobe)(rank, tag, comm, flag, reported);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Iprobe), entered, result);
    uint64_t *record = begin(lane, CODE(Iprobe), 5, entered, ticks());
    if (record != NULL) {
        bool found = *flag != 0;
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(rank, tag);
        record[WORD_FIELDS + 2] = found;
        found ? put_status_words(record + WORD_FIELDS + 3, reported) : put_no_status(record + WORD_FIELDS + 3);
        commit(lane, record, WORD_FIELDS + 5);
    }
    return leave(lane, result);
}

CALL(Mprobe, "cpgmS", (int rank, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (rank, tag, comm, message, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Mprobe)(rank, tag, comm, message, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(Mprobe)(rank, tag, comm, message, reported);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Mprobe), entered, result);
    uint64_t *record = begin(lane, CODE(Mprobe), 5, entered, ticks());
    if (record != NULL) {
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(rank, tag);
        record[WORD_FIELDS + 2] = message_word(*message);
        put_status_words(record + WORD_FIELDS + 3, reported);
        commit(lane, record, WORD_FIELDS + 5);
    }
    return leave(lane, result);
}

CALL(Improbe, "cpgfmS", (int rank, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (rank, tag, comm, flag, message, status))
{
    struct lane *lane = enter();
    if (lane == NULL)
        return REAL(Improbe)(rank, tag, comm, flag, message, status);
    MPI_Status own, *reported = status == MPI_STATUS_IGNORE ? &own : status;
    uint64_t entered = ticks();
    int result = REAL(Improbe)(rank, tag, comm, flag, message, reported);
    if (FAILED(result))
        return failed(lane, CODE_FAILED(Improbe), entered, result);
    uint64_t *record = begin(lane, CODE(Improbe), 6, entered, ticks());
    if (record != NULL) {
        bool found = *flag != 0;
        record[WORD_FIELDS] = comm_word(comm);
        record[WORD_FIELDS + 1] = envelope_word(rank, tag);
        record[WORD_FIELDS + 2] = found;
        record[WORD_FIELDS + 3] = found ? message_word(*message) : 0;
        found ? put_status_words(record + WORD_FIELDS + 4, reported) : put_no_status(record + WORD_FIELDS + 4);
        commit(lane, record, WORD_FIELDS + 6);
    }
    return leave(lane, result);
}
