// Communicators of all kinds with equal tags, and collectives on each.
#include "checks.h"

// Ring messages with one tag on several communicators at once.
static void rings(MPI_Comm *comms, int count) {
    enum { MOST = 8 };
    MPI_Request requests[2 * MOST];
    int in[MOST], out[MOST];
    for (int round = 0; round < 5; round++) {
        for (int at = 0; at < count; at++) {
            int me, size;
            MPI_Comm_rank(comms[at], &me), MPI_Comm_size(comms[at], &size);
            out[at] = me * 1000 + at * 10 + round, in[at] = -1;
            MPI_Isend(&out[at], 1, MPI_INT, (me + 1) % size, 3, comms[at], &requests[at]);
        }
        for (int at = count - 1; at >= 0; at--) {
            int source = round % 2 ? MPI_ANY_SOURCE : 0, me, size;
            MPI_Comm_rank(comms[at], &me), MPI_Comm_size(comms[at], &size);
            if (source == 0) source = (me + size - 1) % size;
            MPI_Irecv(&in[at], 1, MPI_INT, source, round % 3 ? 3 : MPI_ANY_TAG, comms[at], &requests[count + at]);
        }
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < count; at++) {
            int me, size;
            MPI_Comm_rank(comms[at], &me), MPI_Comm_size(comms[at], &size);
            CHECK(in[at] == (me + size - 1) % size * 1000 + at * 10 + round, "communicator %d got %d", at, in[at]);
        }
    }
}

void communicators(void) {
    MPI_Comm comms[6];
    int count = 0;
    comms[count++] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[count++]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[count++]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[count++]);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comms[count++]);
    MPI_Group all, half;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int range[1][3] = {{0, (ranks - 1) / 2, 1}};
    MPI_Group_range_incl(all, 1, range, &half);
    if (rank <= (ranks - 1) / 2) MPI_Comm_create_group(MPI_COMM_WORLD, half, 17, &comms[count++]);
    rings(comms, count);
    for (int at = 1; at < count; at++) MPI_Comm_free(&comms[at]);
    MPI_Group_free(&all), MPI_Group_free(&half);
    // Repeated creation and release: context ids are reused, but old messages must not match.
    for (int round = 0; round < 60; round++) {
        MPI_Comm again;
        int in = -1, out = rank * 100 + round, from = (rank + ranks - 1) % ranks;
        MPI_Comm_dup(MPI_COMM_WORLD, &again);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 5, &in, 1, MPI_INT, from, 5, again, MPI_STATUS_IGNORE);
        CHECK(in == from * 100 + round, "the %dth communicator got %d", round, in);
        MPI_Comm_free(&again);
    }
}

void intercommunicators(void) {
    MPI_Comm half, between, merged;
    int side = rank % 2, me, others;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Comm_rank(half, &me);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 18, &between);
    MPI_Comm_remote_size(between, &others);
    for (int to = 0; to < others; to++) {
        int out = rank * 100 + to;
        MPI_Request request;
        MPI_Isend(&out, 1, MPI_INT, to, 6, between, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int from = 0; from < others; from++) {
        int in = -1;
        MPI_Status status;
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 6, between, &status);
        CHECK(in == (status.MPI_SOURCE * 2 + 1 - side) * 100 + me, "from %d beyond: %d", status.MPI_SOURCE, in);
    }
    MPI_Intercomm_merge(between, side, &merged);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK(sum == ranks * (ranks - 1) / 2, "the sum over merged groups is %d", sum);
    MPI_Comm_free(&merged), MPI_Comm_free(&between), MPI_Comm_free(&half);
}

static void collectives_on(MPI_Comm comm) {
    int me, size;
    MPI_Comm_rank(comm, &me), MPI_Comm_size(comm, &size);
    const int counts[] = {1, 7, 1000, 20000};
    for (int which = 0; which < 4; which++) {
        int count = counts[which];
        int *out = memory(sizeof(int) * (size_t)count * (size_t)size), *in = memory(sizeof(int) * (size_t)count * (size_t)size);
        for (int at = 0; at < count * size; at++) out[at] = me + at;
        MPI_Request requests[2];
        MPI_Ibarrier(comm, &requests[0]);
        MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in[count - 1] == size * (size - 1) / 2 + (count - 1) * size, "sum of %d numbers", count);
        MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
        for (int from = 0; from < size; from++) {
            CHECK(in[from * count] == from + me * count, "all to all of %d numbers, from %d", count, from);
        }
        int root = count % size;
        if (me == root) memset(in, 0, sizeof(int) * (size_t)count);
        memcpy(in, out, sizeof(int) * (size_t)count);
        MPI_Bcast(in, count, MPI_INT, root, comm);
        CHECK(in[count - 1] == root + count - 1, "broadcast of %d numbers", count);
        MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, comm);
        if (me == root) CHECK(in[(size - 1) * count] == size - 1, "gather of %d numbers", count);
        MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, comm);
        CHECK(in[0] == root + me * count, "scatter of %d numbers", count);
        MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm);
        CHECK(in[0] == me * (me + 1) / 2, "scan of %d numbers", count);
        MPI_Reduce_scatter_block(out, in, count, MPI_INT, MPI_SUM, comm);
        CHECK(in[0] == size * (size - 1) / 2 + me * count * size, "reduce and scatter of %d numbers", count);
        free(out), free(in);
    }
}

// Unexpected messages stay queued on the same communicators meanwhile.
void collectives(void) {
    MPI_Comm halves;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
    int out = rank, in = -1, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Request request;
    MPI_Isend(&out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &request);
    collectives_on(MPI_COMM_WORLD), collectives_on(halves), collectives_on(MPI_COMM_SELF);
    MPI_Status status;
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(in == from && status.MPI_SOURCE == from, "a message that waited through collectives: %d", in);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&halves);
}

enum { SPAWNED = 2 };

static void talk(MPI_Comm between, int remote, int as_child) {
    int me;
    MPI_Comm_rank(between, &me);
    char *message = memory(40000);
    const int some[] = {0, 100, 40000};
    for (int peer = 0; peer < remote; peer++) {
        for (int at = 0; at < 3; at++) {
            header_t header = {(uint32_t)me, (uint32_t)as_child, (uint32_t)at, 0};
            fill(message, some[at], header);
            MPI_Request request;
            MPI_Isend(message, some[at], MPI_BYTE, peer, at, between, &request);
            char *in = memory(40000);
            MPI_Status status;
            MPI_Recv(in, 40000, MPI_BYTE, peer, at, between, &status);
            header_t expected = {(uint32_t)peer, (uint32_t)!as_child, (uint32_t)at, 0};
            check_status(&status, peer, at, some[at]);
            CHECK(is_filled(in, some[at], expected), "%d bytes from the other world", some[at]);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            free(in);
        }
    }
    free(message);
    int sum = 0, one = 1;
    MPI_Comm merged;
    MPI_Intercomm_merge(between, as_child, &merged);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
    int size;
    MPI_Comm_size(merged, &size);
    CHECK(sum == size, "the sum over both worlds is %d", sum);
    MPI_Comm_free(&merged);
}

void spawning(const char *program) {
    MPI_Comm between;
    char *arguments[] = {"--spawned", NULL};
    MPI_Comm_spawn(program, arguments, SPAWNED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    talk(between, SPAWNED, 0);
    MPI_Comm_disconnect(&between);
}

void spawned(void) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    int remote;
    MPI_Comm_remote_size(parent, &remote);
    talk(parent, remote, 1);
    MPI_Comm_disconnect(&parent);
}
