/* Every feature of the point-to-point chapter, once. The program computes nothing but checks every message.
 * Sends, posts and matches are the same in every run; the number of early tests and probes is not.
 *
 * With --sessions a message uses a communicator created without MPI_COMM_WORLD. With --spawn two processes
 * are started, which count as PREFIX.spawned. Features that an MPI library lacks are left out. Needs two
 * ranks. */
#include "features_parts.h"

#include "features_mpi4.h"

static long sessions = 0, spawn = 0;

static void blocking_sends(void) {
    int out[LENGTH], in[LENGTH];
    char room[LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD];
    MPI_Request request;
    MPI_Status status;
    MPI_Buffer_attach(room, (int)sizeof room);
    for (int tag = 0; tag < 4; tag++) {
        fill(out, rank, tag);
        MPI_Irecv(in, LENGTH, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
        /* A ready send needs a posted receive. */
        if (tag == 3) MPI_Barrier(MPI_COMM_WORLD);
        if (tag == 0) MPI_Send(out, LENGTH, MPI_INT, to, tag, MPI_COMM_WORLD);
        if (tag == 1) MPI_Bsend(out, LENGTH, MPI_INT, to, tag, MPI_COMM_WORLD);
        if (tag == 2) MPI_Ssend(out, LENGTH, MPI_INT, to, tag, MPI_COMM_WORLD);
        if (tag == 3) MPI_Rsend(out, LENGTH, MPI_INT, to, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        EXPECT(says(&status, from, tag) && is_from(in, from, tag));
    }
    void *address;
    int size;
    MPI_Buffer_detach(&address, &size);
}

static void nonblocking_sends(void) {
    int out[4][LENGTH], in[4][LENGTH];
    char room[LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD];
    MPI_Request requests[8];
    MPI_Status statuses[8];
    MPI_Buffer_attach(room, (int)sizeof room);
    for (int i = 0; i < 4; i++) {
        fill(out[i], rank, 10 + i);
        MPI_Irecv(in[i], LENGTH, MPI_INT, from, 10 + i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out[0], LENGTH, MPI_INT, to, 10, MPI_COMM_WORLD, &requests[4]);
    MPI_Ibsend(out[1], LENGTH, MPI_INT, to, 11, MPI_COMM_WORLD, &requests[5]);
    MPI_Issend(out[2], LENGTH, MPI_INT, to, 12, MPI_COMM_WORLD, &requests[6]);
    MPI_Irsend(out[3], LENGTH, MPI_INT, to, 13, MPI_COMM_WORLD, &requests[7]);
    MPI_Waitall(8, requests, statuses);
    for (int i = 0; i < 4; i++) EXPECT(says(&statuses[i], from, 10 + i) && is_from(in[i], from, 10 + i));
    void *address;
    int size;
    MPI_Buffer_detach(&address, &size);
}

static void persistent(void) {
    int out[5][LENGTH], in[5][LENGTH];
    char room[LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD];
    MPI_Request receives[5], sends[5];
    MPI_Buffer_attach(room, (int)sizeof room);
    for (int i = 0; i < 5; i++) {
        int of = i == 4 ? MPI_ANY_SOURCE : from;
        MPI_Recv_init(in[i], LENGTH, MPI_INT, of, 20 + i, MPI_COMM_WORLD, &receives[i]);
    }
    MPI_Send_init(out[0], LENGTH, MPI_INT, to, 20, MPI_COMM_WORLD, &sends[0]);
    MPI_Bsend_init(out[1], LENGTH, MPI_INT, to, 21, MPI_COMM_WORLD, &sends[1]);
    MPI_Ssend_init(out[2], LENGTH, MPI_INT, to, 22, MPI_COMM_WORLD, &sends[2]);
    MPI_Rsend_init(out[3], LENGTH, MPI_INT, to, 23, MPI_COMM_WORLD, &sends[3]);
    MPI_Send_init(out[4], LENGTH, MPI_INT, to, 24, MPI_COMM_WORLD, &sends[4]);
    /* No request is started, so the wait returns at once. */
    MPI_Waitall(5, receives, MPI_STATUSES_IGNORE);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++) fill(out[i], rank, 20 + i + 5 * round);
        MPI_Startall(5, receives);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&sends[0]);
        MPI_Start(&sends[1]);
        MPI_Startall(3, &sends[2]);
        MPI_Waitall(5, sends, MPI_STATUSES_IGNORE);
        MPI_Waitall(5, receives, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 5; i++) EXPECT(is_from(in[i], from, 20 + i + 5 * round));
    }
    for (int i = 0; i < 5; i++) {
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
    void *address;
    int size;
    MPI_Buffer_detach(&address, &size);
}

static void both_at_once(void) {
    int out[LENGTH], in[LENGTH];
    MPI_Status status;
    fill(out, rank, 40);
    MPI_Sendrecv(out, LENGTH, MPI_INT, to, 40, in, LENGTH, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    EXPECT(says(&status, from, 40) && is_from(in, from, 40));
    MPI_Sendrecv(out, LENGTH, MPI_INT, to, 40, in, LENGTH, MPI_INT, from, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 40));
    /* Half a chain: the first rank has no left neighbour, the last no right one. */
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(out, LENGTH, MPI_INT, right, 40, in, LENGTH, MPI_INT, left, 40, MPI_COMM_WORLD, &status);
    EXPECT(left == MPI_PROC_NULL ? status.MPI_SOURCE == MPI_PROC_NULL : is_from(in, left, 40));
    MPI_Sendrecv_replace(out, LENGTH, MPI_INT, to, 41, from, 41, MPI_COMM_WORLD, &status);
    EXPECT(says(&status, from, 41) && is_from(out, from, 40));
}

/* Messages arrive before the receives. The barrier does not guarantee this, but MPI_Probe waits for messages.
 */
static void probes(void) {
    int out[5][LENGTH], in[LENGTH], found = 0;
    MPI_Request sends[5], request;
    MPI_Status status;
    MPI_Message message;
    for (int i = 0; i < 5; i++) {
        fill(out[i], rank, 50 + i);
        MPI_Isend(out[i], LENGTH, MPI_INT, to, 50 + i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Probe(from, 50, MPI_COMM_WORLD, &status);
    EXPECT(says(&status, from, 50));
    MPI_Recv(in, LENGTH, MPI_INT, from, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 50));
    while (!found) MPI_Iprobe(MPI_ANY_SOURCE, 51, MPI_COMM_WORLD, &found, &status);
    EXPECT(says(&status, from, 51));
    MPI_Recv(in, LENGTH, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    EXPECT(is_from(in, from, 51));
    /* Two matched probes, received in reverse order. */
    MPI_Message first;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &first, &status);
    EXPECT(says(&status, from, 52));
    for (found = 0; !found;) MPI_Improbe(from, 53, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, LENGTH, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    EXPECT(says(&status, from, 53) && is_from(in, from, 53));
    MPI_Mrecv(in, LENGTH, MPI_INT, &first, &status);
    EXPECT(says(&status, from, 52) && is_from(in, from, 52));
    MPI_Mprobe(from, 54, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, LENGTH, MPI_INT, &message, MPI_STATUS_IGNORE);
    EXPECT(message == MPI_MESSAGE_NULL && is_from(in, from, 54));
    MPI_Iprobe(MPI_ANY_SOURCE, 59, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    EXPECT(!found);
    MPI_Waitall(5, sends, MPI_STATUSES_IGNORE);
}

static void wildcards(void) {
    static const bool any_source[4] = {false, true, false, true}, any_tag[4] = {false, false, true, true};
    int out[LENGTH], in[4][LENGTH];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    for (int i = 0; i < 4; i++) {
        int source = any_source[i] ? MPI_ANY_SOURCE : from, tag = any_tag[i] ? MPI_ANY_TAG : 60 + i;
        MPI_Irecv(in[i], LENGTH, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < 4; i++) {
        fill(out, rank, 60 + i);
        MPI_Send(out, LENGTH, MPI_INT, to, 60 + i, MPI_COMM_WORLD);
    }
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 4; i++) EXPECT(says(&statuses[i], from, 60 + i) && is_from(in[i], from, 60 + i));
    fill(out, rank, 64);
    MPI_Request send;
    MPI_Isend(out, LENGTH, MPI_INT, to, 64, MPI_COMM_WORLD, &send);
    MPI_Recv(in[0], LENGTH, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &statuses[0]);
    EXPECT(says(&statuses[0], from, 64) && is_from(in[0], from, 64));
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void cancel_and_free(void) {
    int in[LENGTH], out[LENGTH], was_cancelled;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(in, LENGTH, MPI_INT, from, 70, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was_cancelled);
    EXPECT(was_cancelled);
    /* A persistent receive, which then starts again. */
    MPI_Recv_init(in, LENGTH, MPI_INT, MPI_ANY_SOURCE, 72, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was_cancelled);
    EXPECT(was_cancelled);
    MPI_Start(&request);
    fill(out, rank, 72);
    /* No rank has a receive left to cancel. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, LENGTH, MPI_INT, to, 72, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    EXPECT(says(&status, from, 72) && is_from(in, from, 72));
    MPI_Request_free(&request);
    /* The message of a freed request arrives all the same. */
    fill(out, rank, 71);
    MPI_Isend(out, LENGTH, MPI_INT, to, 71, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Recv(in, LENGTH, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    EXPECT(says(&status, from, 71) && is_from(in, from, 71) && request == MPI_REQUEST_NULL);
    /* `out` must not change before all ranks have received. */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Posts two receives and two sends, and completes the requests in one of eight ways. */
static void complete(int way, bool with_status) {
    int out[2][LENGTH], in[2][LENGTH], done = 0, some[4], which, flag;
    MPI_Request requests[4];
    MPI_Status status, statuses[4];
    for (int i = 0; i < 2; i++) {
        fill(out[i], rank, 80 + 2 * way + i);
        MPI_Irecv(in[i], LENGTH, MPI_INT, from, 80 + 2 * way + i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Isend(out[i], LENGTH, MPI_INT, to, 80 + 2 * way + i, MPI_COMM_WORLD, &requests[2 + i]);
    MPI_Status *one = with_status ? &status : MPI_STATUS_IGNORE;
    MPI_Status *all = with_status ? statuses : MPI_STATUSES_IGNORE;
    while (done < 4) {
        int now = 1;
        if (way == 0) MPI_Wait(&requests[done], one);
        if (way == 1) MPI_Waitany(4, requests, &which, one);
        if (way == 2) MPI_Waitall(4, requests, all), now = 4;
        if (way == 3) MPI_Waitsome(4, requests, &now, some, all);
        if (way == 4) MPI_Test(&requests[done], &now, one);
        if (way == 5) MPI_Testany(4, requests, &which, &now, one);
        if (way == 6) MPI_Testall(4, requests, &flag, all), now = flag ? 4 : 0;
        if (way == 7) MPI_Testsome(4, requests, &now, some, all);
        done += now;
        bool is_first = way == 0 || way == 4 ? done == 1 && now : (way == 1 || way == 5) && now && which == 0;
        if (with_status && is_first) EXPECT(says(&status, from, 80 + 2 * way));
        if (with_status && (way == 2 || way == 6) && now) EXPECT(says(&statuses[1], from, 81 + 2 * way));
        for (int i = 0; with_status && (way == 3 || way == 7) && i < now; i++)
            if (some[i] < 2) EXPECT(says(&statuses[i], from, 80 + 2 * way + some[i]));
    }
    for (int i = 0; i < 2; i++) EXPECT(is_from(in[i], from, 80 + 2 * way + i));
    for (int i = 0; i < 4; i++) EXPECT(requests[i] == MPI_REQUEST_NULL);
}

static void completions(void) {
    for (int way = 0; way < 8; way++) {
        complete(way, true);
        complete(way, false);
    }
    /* The query does not complete the request. */
    int out[LENGTH], in[LENGTH], is_done = 0;
    MPI_Request request;
    MPI_Status status;
    fill(out, rank, 96);
    MPI_Irecv(in, LENGTH, MPI_INT, from, 96, MPI_COMM_WORLD, &request);
    MPI_Send(out, LENGTH, MPI_INT, to, 96, MPI_COMM_WORLD);
    while (!is_done) MPI_Request_get_status(request, &is_done, &status);
    EXPECT(request != MPI_REQUEST_NULL && says(&status, from, 96));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(is_from(in, from, 96));
}

static void nobody(void) {
    int data[LENGTH] = {0}, found;
    MPI_Request requests[3];
    MPI_Message message;
    MPI_Status status;
    MPI_Send(data, LENGTH, MPI_INT, MPI_PROC_NULL, 100, MPI_COMM_WORLD);
    MPI_Recv(data, LENGTH, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Isend(data, LENGTH, MPI_INT, MPI_PROC_NULL, 100, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data, LENGTH, MPI_INT, MPI_PROC_NULL, 100, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(MPI_PROC_NULL, 100, MPI_COMM_WORLD, &found, &status);
    EXPECT(found && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mprobe(MPI_PROC_NULL, 100, MPI_COMM_WORLD, &message, &status);
    EXPECT(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(data, LENGTH, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Send_init(data, LENGTH, MPI_INT, MPI_PROC_NULL, 100, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(data, LENGTH, MPI_INT, MPI_PROC_NULL, 100, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* A column of a square, an indexed selection, a struct and a packed buffer are sent; contiguous integers are
 * received. */
static void datatypes(void) {
    int square[LENGTH][LENGTH], in[LENGTH], size, position = 0;
    MPI_Datatype column, chosen, pair;
    MPI_Status status;
    for (int i = 0; i < LENGTH; i++)
        for (int j = 0; j < LENGTH; j++) square[i][j] = 10 * i + j;
    MPI_Type_vector(LENGTH, 1, LENGTH, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(&square[0][2], 1, column, to, 110, in, LENGTH, MPI_INT, from, 110, MPI_COMM_WORLD, &status);
    for (int i = 0; i < LENGTH; i++) EXPECT(in[i] == 10 * i + 2);
    MPI_Type_indexed(2, (int[]){1, 2}, (int[]){3, 5}, MPI_INT, &chosen);
    MPI_Type_commit(&chosen);
    MPI_Sendrecv(square, 1, chosen, to, 111, in, LENGTH, MPI_INT, from, 111, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &size);
    EXPECT(size == 3 && in[0] == 3 && in[1] == 5 && in[2] == 6);
    struct {
        char letter;
        double number;
    } sent = {'m', rank + 0.5}, got = {0, 0};
    MPI_Aint begin, parts[2];
    MPI_Get_address(&sent, &begin);
    MPI_Get_address(&sent.letter, &parts[0]);
    MPI_Get_address(&sent.number, &parts[1]);
    for (int i = 0; i < 2; i++) parts[i] -= begin;
    MPI_Type_create_struct(2, (int[]){1, 1}, parts, (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE}, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(&sent, 1, pair, to, 112, &got, 1, pair, from, 112, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(got.letter == 'm' && got.number == from + 0.5);
    char packed[100];
    MPI_Pack(&rank, 1, MPI_INT, packed, (int)sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Sendrecv(packed, position, MPI_PACKED, to, 113, in, 1, MPI_INT, from, 113, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(in[0] == from);
    /* A message without data. */
    MPI_Sendrecv(NULL, 0, MPI_INT, to, 114, NULL, 0, MPI_INT, from, 114, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE == from && status.MPI_TAG == 114);
    MPI_Type_free(&column);
    MPI_Type_free(&chosen);
    MPI_Type_free(&pair);
}

/* A message around the communicator, from any source. Messages of other communicators must not match. */
static void around(MPI_Comm comm, int tag) {
    int here, size, out, in = -1;
    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &size);
    out = 1000 * here + tag;
    MPI_Sendrecv(&out, 1, MPI_INT, (here + 1) % size, tag, &in, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm,
                 MPI_STATUS_IGNORE);
    EXPECT(in == 1000 * ((here + size - 1) % size) + tag);
}

static void communicators(void) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Group world, even;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    around(comm, 120);
    MPI_Comm_free(&comm);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    around(comm, 120);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    around(comm, 120);
    MPI_Comm_free(&comm);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, (int[][3]){{0, ranks - 1, 2}}, &even);
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    EXPECT((comm != MPI_COMM_NULL) == (rank % 2 == 0));
    if (comm != MPI_COMM_NULL) around(comm, 120);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 7, &comm);
        around(comm, 120);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&even);
    MPI_Group_free(&world);
    int left, right, out = rank, in = -1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){0}, 1, &comm);
    MPI_Cart_shift(comm, 0, 1, &left, &right);
    MPI_Comm_rank(comm, &out);
    int here = out;
    MPI_Sendrecv(&out, 1, MPI_INT, right, 121, &in, 1, MPI_INT, left, 121, comm, MPI_STATUS_IGNORE);
    EXPECT(in == (here == 0 ? -1 : here - 1));
    MPI_Comm_free(&comm);
}

/* Even ranks on one side, odd ranks on the other. Ranks are those of the other side. */
static void sides(void) {
    MPI_Comm local, across, merged, copy;
    int here, others, in = -1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
    MPI_Comm_rank(local, &here);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 130, &across);
    MPI_Comm_remote_size(across, &others);
    MPI_Comm_dup(across, &copy);
    if (here < others) {
        MPI_Sendrecv(&rank, 1, MPI_INT, here, 131, &in, 1, MPI_INT, here, 131, across, MPI_STATUS_IGNORE);
        EXPECT(in == rank + (rank % 2 ? -1 : 1));
        MPI_Sendrecv(&rank, 1, MPI_INT, here, 131, &in, 1, MPI_INT, MPI_ANY_SOURCE, 131, copy, MPI_STATUS_IGNORE);
        EXPECT(in == rank + (rank % 2 ? -1 : 1));
    }
    MPI_Intercomm_merge(across, rank % 2, &merged);
    around(merged, 132);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&across);
    MPI_Comm_free(&local);
}

/* A spawned process: answers each of its parents. */
static void spawned(MPI_Comm parent) {
    int in, parents;
    MPI_Comm_remote_size(parent, &parents);
    for (int of = 0; of < parents; of++) {
        MPI_Recv(&in, 1, MPI_INT, of, 140, parent, MPI_STATUS_IGNORE);
        EXPECT(in == 10 * of + rank);
        in++;
        MPI_Send(&in, 1, MPI_INT, of, 141, parent);
    }
    MPI_Comm_disconnect(&parent);
}

static void spawn_two(char *program) {
    char prefix[4096], *arguments[] = {"--count", prefix, NULL};
    MPI_Comm children;
    snprintf(prefix, sizeof prefix, "%s.spawned", counted.prefix ? counted.prefix : "");
    MPI_Comm_spawn(program, counted.prefix ? arguments : MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    for (int child = 0; child < 2; child++) {
        int out = 10 * rank + child, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, child, 140, &in, 1, MPI_INT, child, 141, children, MPI_STATUS_IGNORE);
        EXPECT(in == out + 1);
    }
    MPI_Comm_disconnect(&children);
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--sessions", &sessions, "a message by MPI_Session_init, too", true},
        {"--spawn", &spawn, "start two processes, too", true},
    };
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        spawned(parent);
        return finish(wrong == 0, "features: two spawned");
    }
    if (ranks < 2) refuse("features: needs two ranks");
    to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    blocking_sends();
    nonblocking_sends();
    persistent();
    both_at_once();
    probes();
    wildcards();
    cancel_and_free();
    completions();
    nobody();
    datatypes();
    communicators();
    sides();
    both_without_waiting();
    partitioned();
    large_counts();
    if (sessions) session();
    if (spawn) spawn_two(argv[0]);
    return finish(wrong == 0, "features: %d ranks%s%s", ranks, HAS_MPI4 ? "" : ", without MPI 4",
                  HAS_LARGE_COUNTS ? "" : ", without large counts");
}
