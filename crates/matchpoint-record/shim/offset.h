/* How far this host's clock is from that of rank 0's host.
 *
 * One process of each other host plays ping-pong with rank 0; the round trip that took least bounds the difference best
 * (Cristian 1989): its half is how wrong the estimate may be. All processes of a host share a clock. */

#define OFFSET_ROUNDS 32
#define OFFSET_TAG 1

struct offset {
    uint64_t ticks;
    int64_t ns;
    uint64_t error_ns;
};

static uint64_t host_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *at = world.host; *at != 0; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    return hash;
}

/* Rank 0's side: answers each question with its time. */
static void offset_answer(MPI_Comm comm, int rank)
{
    int64_t now;
    for (int round = 0; round < OFFSET_ROUNDS; round++) {
        REAL(Recv)(&now, sizeof now, library.byte, rank, OFFSET_TAG, comm, MPI_STATUS_IGNORE);
        now = monotonic_ns();
        REAL(Send)(&now, sizeof now, library.byte, rank, OFFSET_TAG, comm);
    }
}

static struct offset offset_ask(MPI_Comm comm)
{
    struct offset best = {0, 0, UINT64_MAX};
    for (int round = 0; round < OFFSET_ROUNDS; round++) {
        int64_t there, before = monotonic_ns();
        REAL(Send)(&before, sizeof before, library.byte, 0, OFFSET_TAG, comm);
        REAL(Recv)(&there, sizeof there, library.byte, 0, OFFSET_TAG, comm, MPI_STATUS_IGNORE);
        int64_t after = monotonic_ns();
        uint64_t half = (uint64_t)(after - before) / 2;
        if (half < best.error_ns)
            best = (struct offset){ticks(), there - (before + (int64_t)half), half};
    }
    return best;
}

/* Collective over the world, at the beginning and, if all processes had something to write to then, at the end. Where all
 * are on one host it costs one exchange of eight bytes. */
static void offset_find(bool records)
{
    /* The lowest bit says whether this process records: all must come again, or none. */
    uint64_t own = (host_hash() & ~(uint64_t)1) | records, *hosts = malloc((size_t)world.size * sizeof *hosts);
    struct offset offset = {ticks(), 0, 0}, *of_leaders = malloc((size_t)world.size * sizeof offset);
    MPI_Comm comm;
    /* Without memory nobody may leave the others alone: the program is at its end anyway. */
    if (hosts == NULL || of_leaders == NULL) {
        complain("no memory to compare the clocks of %d processes", world.size);
        REAL(Abort)(library.comm_world, 1);
    }
    REAL(Allgather)(&own, sizeof own, library.byte, hosts, sizeof own, library.byte, library.comm_world);
    bool several = false;
    world.all_record = true;
    for (int rank = 0; rank < world.size; rank++) {
        world.all_record &= hosts[rank] & 1;
        hosts[rank] &= ~(uint64_t)1;
        several |= hosts[rank] != hosts[0];
    }
    own &= ~(uint64_t)1;
    if (several && REAL(Comm_dup)(library.comm_world, &comm) == MPI_SUCCESS) {
        for (int rank = 1; rank < world.size; rank++) {
            bool leads = hosts[rank] != hosts[0];
            for (int earlier = 1; leads && earlier < rank; earlier++)
                leads = hosts[earlier] != hosts[rank];
            if (!leads)
                continue;
            if (world.rank == 0)
                offset_answer(comm, rank);
            else if (world.rank == rank)
                offset = offset_ask(comm);
        }
        REAL(Allgather)(&offset, sizeof offset, library.byte, of_leaders, sizeof offset, library.byte, comm);
        for (int rank = 1; own != hosts[0] && rank < world.size; rank++) {
            if (hosts[rank] == own) {
                offset = of_leaders[rank];
                break;
            }
        }
        REAL(Comm_free)(&comm);
    }
    file_block(BLOCK_OFFSET, 0, 0, &offset, sizeof offset);
    free(of_leaders);
    free(hosts);
}
