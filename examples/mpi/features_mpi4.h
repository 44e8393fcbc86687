/* The part of features.c that came with MPI 4. */
#ifndef FEATURES_MPI4_H
#define FEATURES_MPI4_H

#include "features.h"

#if HAS_MPI4

static void both_without_waiting(void) {
    int out[LENGTH], in[LENGTH];
    MPI_Request request;
    MPI_Status status;
    fill(out, rank, 150);
    MPI_Isendrecv(out, LENGTH, MPI_INT, to, 150, in, LENGTH, MPI_INT, from, 150, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 150));
    MPI_Isendrecv_replace(out, LENGTH, MPI_INT, to, 151, from, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    EXPECT(is_from(out, from, 150));
}

/* Four parts, made ready in three ways, in two rounds. They match by the order of initialisation. */
static void partitioned(void) {
    enum { PARTS = 4 };
    int out[PARTS][LENGTH], in[PARTS][LENGTH];
    MPI_Request send, receive;
    MPI_Psend_init(out, PARTS, LENGTH, MPI_INT, to, 160, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, PARTS, LENGTH, MPI_INT, from, 160, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < 2; round++) {
        int has_arrived = 0;
        MPI_Start(&receive);
        MPI_Start(&send);
        for (int part = 0; part < PARTS; part++) fill(out[part], rank, 160 + part + round);
        MPI_Pready(2, send);
        MPI_Pready_range(0, 1, send);
        MPI_Pready_list(1, (int[]){3}, send);
        while (!has_arrived) MPI_Parrived(receive, 2, &has_arrived);
        EXPECT(is_from(in[2], from, 162 + round));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        for (int part = 0; part < PARTS; part++) EXPECT(is_from(in[part], from, 160 + part + round));
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void session(void) {
    MPI_Session one;
    MPI_Group group;
    MPI_Comm comm;
    int here, size, in = -1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    MPI_Group_from_session_pset(one, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "matchpoint.features", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&here, 1, MPI_INT, (here + 1) % size, 170, &in, 1, MPI_INT, MPI_ANY_SOURCE, 170, comm,
                 MPI_STATUS_IGNORE);
    EXPECT(in == (here + size - 1) % size);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&one);
}

#else

static void both_without_waiting(void) {}

static void partitioned(void) {}

static void session(void) { refuse("features: this MPI has no sessions"); }

#endif

#if HAS_LARGE_COUNTS

/* The same calls, with counts that could be large. */
static void large_counts(void) {
    int out[LENGTH], in[LENGTH];
    MPI_Request requests[2];
    MPI_Message message;
    fill(out, rank, 180);
    MPI_Irecv_c(in, LENGTH, MPI_INT, from, 180, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend_c(out, LENGTH, MPI_INT, to, 180, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT(is_from(in, from, 180));
    MPI_Sendrecv_c(out, LENGTH, MPI_INT, to, 181, in, LENGTH, MPI_INT, from, 181, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 180));
    /* Pairs of even and odd: blocking calls need an order. */
    int partner = rank % 2 ? rank - 1 : rank + 1;
    if (rank % 2 == 0 && partner < ranks) MPI_Send_c(out, LENGTH, MPI_INT, partner, 182, MPI_COMM_WORLD);
    if (rank % 2) MPI_Recv_c(in, LENGTH, MPI_INT, MPI_ANY_SOURCE, 182, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(rank % 2 == 0 || is_from(in, partner, 180));
    MPI_Recv_init_c(in, LENGTH, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init_c(out, LENGTH, MPI_INT, to, 183, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT(is_from(in, from, 180));
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    for (int i = 0; i < 2; i++) MPI_Isend_c(out, LENGTH, MPI_INT, to, 184 + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Mprobe(from, 185, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(in, LENGTH, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Mprobe(from, 184, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Request receive;
    MPI_Imrecv_c(in, LENGTH, MPI_INT, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 180));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

#else

static void large_counts(void) {}

#endif

#endif
