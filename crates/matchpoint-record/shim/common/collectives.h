/* All collective operations (MPI-4.1 §6, 8.6). The including file defines
 *
 *      COLLECTIVE(NAME, INAME, NAME_INIT, COMM, ROOT, BYTES, PARAMETERS, ARGUMENTS)
 *
 * for the blocking, nonblocking and persistent form. It includes this once for counts of type int (COUNT, SIZED)
 * and, with LARGE, once for MPI_Count. BYTES is the length that this process sends, with functions of the recorder. */
#undef DISPLACEMENT
#ifndef LARGE
#define DISPLACEMENT int
COLLECTIVE(Barrier, Ibarrier, Barrier_init, comm, -1, 1, (MPI_Comm comm), (comm))
#else
#define DISPLACEMENT MPI_Aint
#endif

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

/* The number of neighbours depends on the topology, so lengths are unknown. */
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
