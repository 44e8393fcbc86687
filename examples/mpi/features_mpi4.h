/* The MPI 4 part of features.c. */
#ifndef FEATURES_MPI4_H
#define FEATURES_MPI4_H

#include "features_parts.h"

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

/* Four parts, marked ready in three ways, in two rounds. They match by the order of initialization. */
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

/* The same calls with large counts. Every send mode to the right, into posted receives. */
static void large_sends(void) {
    int out[LENGTH], in[8][LENGTH];
    MPI_Request receives[8], sends[4];
    fill(out, rank, 180);
    for (int i = 0; i < 8; i++) MPI_Irecv_c(in[i], LENGTH, MPI_INT, from, 180 + i, MPI_COMM_WORLD, &receives[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send_c(out, LENGTH, MPI_INT, to, 180, MPI_COMM_WORLD);
    MPI_Bsend_c(out, LENGTH, MPI_INT, to, 181, MPI_COMM_WORLD);
    MPI_Ssend_c(out, LENGTH, MPI_INT, to, 182, MPI_COMM_WORLD);
    MPI_Rsend_c(out, LENGTH, MPI_INT, to, 183, MPI_COMM_WORLD);
    MPI_Isend_c(out, LENGTH, MPI_INT, to, 184, MPI_COMM_WORLD, &sends[0]);
    MPI_Ibsend_c(out, LENGTH, MPI_INT, to, 185, MPI_COMM_WORLD, &sends[1]);
    MPI_Issend_c(out, LENGTH, MPI_INT, to, 186, MPI_COMM_WORLD, &sends[2]);
    MPI_Irsend_c(out, LENGTH, MPI_INT, to, 187, MPI_COMM_WORLD, &sends[3]);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(8, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; i++) EXPECT(is_from(in[i], from, 180));
}

static void large_persistent(void) {
    int out[LENGTH], in[4][LENGTH];
    MPI_Request receives[4], sends[4];
    fill(out, rank, 190);
    for (int i = 0; i < 4; i++)
        MPI_Recv_init_c(in[i], LENGTH, MPI_INT, i ? from : MPI_ANY_SOURCE, 190 + i, MPI_COMM_WORLD, &receives[i]);
    MPI_Send_init_c(out, LENGTH, MPI_INT, to, 190, MPI_COMM_WORLD, &sends[0]);
    MPI_Bsend_init_c(out, LENGTH, MPI_INT, to, 191, MPI_COMM_WORLD, &sends[1]);
    MPI_Ssend_init_c(out, LENGTH, MPI_INT, to, 192, MPI_COMM_WORLD, &sends[2]);
    MPI_Rsend_init_c(out, LENGTH, MPI_INT, to, 193, MPI_COMM_WORLD, &sends[3]);
    MPI_Startall(4, receives);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Startall(4, sends);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(4, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) {
        EXPECT(is_from(in[i], from, 190));
        MPI_Request_free(&receives[i]);
        MPI_Request_free(&sends[i]);
    }
}

static void large_both(void) {
    int out[LENGTH], in[LENGTH];
    MPI_Request requests[2], receive;
    MPI_Message message;
    fill(out, rank, 200);
    MPI_Sendrecv_c(out, LENGTH, MPI_INT, to, 200, in, LENGTH, MPI_INT, from, 200, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 200));
    MPI_Isendrecv_c(out, LENGTH, MPI_INT, to, 201, in, LENGTH, MPI_INT, from, 201, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 200));
    /* There and back. */
    MPI_Sendrecv_replace_c(out, LENGTH, MPI_INT, to, 202, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(is_from(out, from, 200));
    MPI_Isendrecv_replace_c(out, LENGTH, MPI_INT, from, 203, to, 203, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    EXPECT(is_from(out, rank, 200));
    for (int i = 0; i < 3; i++) {
        MPI_Isend_c(out, LENGTH, MPI_INT, to, 204 + i, MPI_COMM_WORLD, &requests[0]);
        if (i == 0) {
            MPI_Recv_c(in, LENGTH, MPI_INT, MPI_ANY_SOURCE, 204, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Mprobe(from, 204 + i, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            if (i == 1) MPI_Mrecv_c(in, LENGTH, MPI_INT, &message, MPI_STATUS_IGNORE);
            if (i == 2) MPI_Imrecv_c(in, LENGTH, MPI_INT, &message, &receive), MPI_Wait(&receive, MPI_STATUS_IGNORE);
        }
        EXPECT(is_from(in, from, 200));
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void large_counts(void) {
    char room[4 * (LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD)];
    void *address;
    int size;
    MPI_Buffer_attach(room, (int)sizeof room);
    large_sends();
    large_persistent();
    large_both();
    MPI_Buffer_detach(&address, &size);
}

#else

static void large_counts(void) {}

#endif

#endif
