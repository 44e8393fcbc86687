/* Collective communication (MPI-4.1 §6, 8.6): blocking, non-blocking and persistent forms of each, from one line.
 *
 * Lengths are taken only where the standard lets every process give them: a type that is not significant may be anything,
 * and to ask for its size would be an error of ours in the application's name. */

#ifndef LARGE
#define DISPLACEMENT int

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

/* One more than a length, as `bytes_word`; of buffers that take part as they lie, and of processes that do not, none. */
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

/* How many processes there are to send something to: on an inter-communicator those of the other group (MPI-4.1 §6.8). */
static inline MPI_Count peers_of(MPI_Comm comm)
{
    int inter = 0, size = 1;
    REAL(Comm_test_inter)(comm, &inter);
    if (!inter)
        return comm_size(comm);
    REAL(Comm_remote_size)(comm, &size);
    return size;
}

COLLECTIVE(Barrier, Ibarrier, Barrier_init, comm, -1, 1, (MPI_Comm comm), (comm))
#else
#undef DISPLACEMENT
#define DISPLACEMENT MPI_Aint
#endif

static inline MPI_Count SIZED(sum_of)(const COUNT counts[], MPI_Count processes)
{
    MPI_Count sum = 0;
    for (MPI_Count i = 0; i < processes; i++)
        sum += counts[i];
    return sum;
}

COLLECTIVE(SIZED(Bcast), SIZED(Ibcast), SIZED(Bcast_init), comm, root, bytes_unless(lane, root < 0, type, count),
           (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm), (buffer, count, type, root, comm))

COLLECTIVE(SIZED(Gather), SIZED(Igather), SIZED(Gather_init), comm, root,
           bytes_unless(lane, root < 0 || in == MPI_IN_PLACE, in_type, in_count),
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, COUNT out_count, MPI_Datatype out_type, int root,
            MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, root, comm))

COLLECTIVE(SIZED(Gatherv), SIZED(Igatherv), SIZED(Gatherv_init), comm, root,
           bytes_unless(lane, root < 0 || in == MPI_IN_PLACE, in_type, in_count),
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, const COUNT out_counts[],
            const DISPLACEMENT displacements[], MPI_Datatype out_type, int root, MPI_Comm comm),
           (in, in_count, in_type, out, out_counts, displacements, out_type, root, comm))

COLLECTIVE(SIZED(Scatter), SIZED(Iscatter), SIZED(Scatter_init), comm, root,
           bytes_unless(lane, root < 0 || out == MPI_IN_PLACE, out_type, out_count),
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, COUNT out_count, MPI_Datatype out_type, int root,
            MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, root, comm))

COLLECTIVE(SIZED(Scatterv), SIZED(Iscatterv), SIZED(Scatterv_init), comm, root,
           bytes_unless(lane, root < 0 || out == MPI_IN_PLACE, out_type, out_count),
           (const void *in, const COUNT in_counts[], const DISPLACEMENT displacements[], MPI_Datatype in_type, void *out,
            COUNT out_count, MPI_Datatype out_type, int root, MPI_Comm comm),
           (in, in_counts, displacements, in_type, out, out_count, out_type, root, comm))

COLLECTIVE(SIZED(Allgather), SIZED(Iallgather), SIZED(Allgather_init), comm, -1,
           bytes_unless(lane, in == MPI_IN_PLACE, in_type, in_count),
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, COUNT out_count, MPI_Datatype out_type,
            MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, comm))

COLLECTIVE(SIZED(Allgatherv), SIZED(Iallgatherv), SIZED(Allgatherv_init), comm, -1,
           bytes_unless(lane, in == MPI_IN_PLACE, in_type, in_count),
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, const COUNT out_counts[],
            const DISPLACEMENT displacements[], MPI_Datatype out_type, MPI_Comm comm),
           (in, in_count, in_type, out, out_counts, displacements, out_type, comm))

COLLECTIVE(SIZED(Alltoall), SIZED(Ialltoall), SIZED(Alltoall_init), comm, -1,
           bytes_unless(lane, in == MPI_IN_PLACE, in_type, in == MPI_IN_PLACE ? 0 : in_count * peers_of(comm)),
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, COUNT out_count, MPI_Datatype out_type,
            MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, comm))

COLLECTIVE(SIZED(Alltoallv), SIZED(Ialltoallv), SIZED(Alltoallv_init), comm, -1,
           bytes_unless(lane, in == MPI_IN_PLACE, in_type, in == MPI_IN_PLACE ? 0 : SIZED(sum_of)(in_counts, peers_of(comm))),
           (const void *in, const COUNT in_counts[], const DISPLACEMENT in_displacements[], MPI_Datatype in_type, void *out,
            const COUNT out_counts[], const DISPLACEMENT out_displacements[], MPI_Datatype out_type, MPI_Comm comm),
           (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm))

COLLECTIVE(SIZED(Alltoallw), SIZED(Ialltoallw), SIZED(Alltoallw_init), comm, -1, 0,
           (const void *in, const COUNT in_counts[], const DISPLACEMENT in_displacements[], const MPI_Datatype in_types[],
            void *out, const COUNT out_counts[], const DISPLACEMENT out_displacements[], const MPI_Datatype out_types[],
            MPI_Comm comm),
           (in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types, comm))

COLLECTIVE(SIZED(Reduce), SIZED(Ireduce), SIZED(Reduce_init), comm, root, bytes_unless(lane, root < 0, type, count),
           (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           (in, out, count, type, op, root, comm))

COLLECTIVE(SIZED(Allreduce), SIZED(Iallreduce), SIZED(Allreduce_init), comm, -1, bytes_unless(lane, false, type, count),
           (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, count, type, op, comm))

COLLECTIVE(SIZED(Reduce_scatter), SIZED(Ireduce_scatter), SIZED(Reduce_scatter_init), comm, -1,
           bytes_unless(lane, false, type, SIZED(sum_of)(counts, comm_size(comm))),
           (const void *in, void *out, const COUNT counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, counts, type, op, comm))

COLLECTIVE(SIZED(Reduce_scatter_block), SIZED(Ireduce_scatter_block), SIZED(Reduce_scatter_block_init), comm, -1,
           bytes_unless(lane, false, type, count * comm_size(comm)),
           (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, count, type, op, comm))

COLLECTIVE(SIZED(Scan), SIZED(Iscan), SIZED(Scan_init), comm, -1, bytes_unless(lane, false, type, count),
           (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, count, type, op, comm))

COLLECTIVE(SIZED(Exscan), SIZED(Iexscan), SIZED(Exscan_init), comm, -1, bytes_unless(lane, false, type, count),
           (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, count, type, op, comm))

/* How many neighbours there are is the topology's secret: lengths are left unknown. */
COLLECTIVE(SIZED(Neighbor_allgather), SIZED(Ineighbor_allgather), SIZED(Neighbor_allgather_init), comm, -1, 0,
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, COUNT out_count, MPI_Datatype out_type,
            MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, comm))

COLLECTIVE(SIZED(Neighbor_allgatherv), SIZED(Ineighbor_allgatherv), SIZED(Neighbor_allgatherv_init), comm, -1, 0,
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, const COUNT out_counts[],
            const DISPLACEMENT displacements[], MPI_Datatype out_type, MPI_Comm comm),
           (in, in_count, in_type, out, out_counts, displacements, out_type, comm))

COLLECTIVE(SIZED(Neighbor_alltoall), SIZED(Ineighbor_alltoall), SIZED(Neighbor_alltoall_init), comm, -1, 0,
           (const void *in, COUNT in_count, MPI_Datatype in_type, void *out, COUNT out_count, MPI_Datatype out_type,
            MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, comm))

COLLECTIVE(SIZED(Neighbor_alltoallv), SIZED(Ineighbor_alltoallv), SIZED(Neighbor_alltoallv_init), comm, -1, 0,
           (const void *in, const COUNT in_counts[], const DISPLACEMENT in_displacements[], MPI_Datatype in_type, void *out,
            const COUNT out_counts[], const DISPLACEMENT out_displacements[], MPI_Datatype out_type, MPI_Comm comm),
           (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm))

COLLECTIVE(SIZED(Neighbor_alltoallw), SIZED(Ineighbor_alltoallw), SIZED(Neighbor_alltoallw_init), comm, -1, 0,
           (const void *in, const COUNT in_counts[], const MPI_Aint in_displacements[], const MPI_Datatype in_types[],
            void *out, const COUNT out_counts[], const MPI_Aint out_displacements[], const MPI_Datatype out_types[],
            MPI_Comm comm),
           (in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types, comm))
