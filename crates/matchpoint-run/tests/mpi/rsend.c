// Ready sends, in all forms, to receives that are posted for certain.
//
//     mpiexec -n 1..4 rsend [--fill N]
#include "checks.h"

enum { LENGTHS = 4, LARGE_INTS = 1 << 18, MANY = 100 };
static const int lengths[LENGTHS] = {0, 1, 3000, LARGE_INTS};

static int *out, *in;

enum { RSEND, IRSEND, RSEND_INIT, FORMS };
enum { BARRIER, MESSAGE, SENDRECV, SYNCS };

// After this call the receives that the right neighbour posted before its call are posted for certain.
static void synchronize(int way) {
    MPI_Request request;
    switch (way) {
    case BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
    case MESSAGE:
        MPI_Isend(NULL, 0, MPI_BYTE, left, 70, MPI_COMM_WORLD, &request);
        MPI_Recv(NULL, 0, MPI_BYTE, right, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case SENDRECV:
        MPI_Sendrecv(NULL, 0, MPI_BYTE, left, 70, NULL, 0, MPI_BYTE, right, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    }
}

static void send_ready(int form, const int *data, int ints, int tag) {
    MPI_Request request;
    switch (form) {
    case RSEND: MPI_Rsend(data, ints, MPI_INT, right, tag, MPI_COMM_WORLD); return;
    case IRSEND: MPI_Irsend(data, ints, MPI_INT, right, tag, MPI_COMM_WORLD, &request); break;
    case RSEND_INIT:
        MPI_Rsend_init(data, ints, MPI_INT, right, tag, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == RSEND_INIT) MPI_Request_free(&request);
}

static void check_lengths(int form, int sync, int is_persistent) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < LENGTHS; at++) {
        MPI_Request request;
        MPI_Status status;
        int ints = lengths[at], source = at % 2 ? left : MPI_ANY_SOURCE;
        fill_payload(out, ints, rank, at);
        memset(in, 0, LARGE_INTS * sizeof(int));
        if (is_persistent) {
            MPI_Recv_init(in, ints, MPI_INT, source, at, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
        } else {
            MPI_Irecv(in, ints, MPI_INT, source, at, MPI_COMM_WORLD, &request);
        }
        synchronize(sync);
        send_ready(form, out, ints, at);
        MPI_Wait(&request, &status);
        CHECK_STATUS(&status, left, at, ints * (int)sizeof(int));
        CHECK(has_payload(in, ints, left, at), "form %d, %d integers: wrong data", form, ints);
        if (is_persistent) MPI_Request_free(&request);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// Many receives are posted at once. Their ready sends are in reverse order.
static void check_many(int form) {
    static int values[MANY];
    MPI_Request requests[MANY];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < MANY; at++) {
        values[at] = -1;
        MPI_Irecv(&values[at], 1, MPI_INT, left, 100 + at, MPI_COMM_WORLD, &requests[at]);
    }
    synchronize(BARRIER);
    for (int at = MANY - 1; at >= 0; at--) send_ready(form, &at, 1, 100 + at);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < MANY; at++) CHECK(values[at] == at, "receive %d has message %d", at, values[at]);
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    static const char *const names[FORMS] = {"MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init"};
    begin(&argc, &argv, "rsend");
    out = allocate(LARGE_INTS * sizeof(int)), in = allocate(LARGE_INTS * sizeof(int));
    for (int form = 0; form < FORMS; form++) {
        step = names[form];
        for (int sync = 0; sync < SYNCS; sync++) check_lengths(form, sync, 0), check_lengths(form, sync, 1);
        check_many(form);
    }
    free(out), free(in);
    return finish();
}
