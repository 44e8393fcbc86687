// Datatypes and communicators that are freed while receives wait, and MPI_Finalize with messages and requests left.
//
//     mpiexec -n 2..4 lifetime [--fill N] [--serial N] [--alive N] [--unreceived N]
//
// --unreceived communicators are freed with a message that is not received: 0. MPICH 5.0 aborts there if its own queue has
// the message, so the option needs an overflow limit of 0.
// --serial communicators are created and freed one after another: 4096, with more than 2 ranks 512. --alive communicators
// exist at once: 1000, with more than 2 ranks 200. Creation is slow where ranks share cores.
#include "checks.h"

// Derived types are freed before their messages arrive.
static void check_types(void) {
    enum { COUNT = 20, BLOCKS = 50 };
    static int in[COUNT][2 * BLOCKS];
    MPI_Request requests[COUNT];
    int out[BLOCKS];
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        MPI_Datatype strided;
        MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &strided);
        MPI_Type_commit(&strided);
        memset(in[at], 0, sizeof in[at]);
        if (at % 4 == 3) {
            MPI_Recv_init(in[at], 1, strided, left, at, MPI_COMM_WORLD, &requests[at]);
            MPI_Type_free(&strided);
            MPI_Start(&requests[at]);
            continue;
        }
        MPI_Irecv(in[at], 1, strided, left, at, MPI_COMM_WORLD, &requests[at]);
        MPI_Type_free(&strided);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = COUNT - 1; at >= 0; at--) {
        fill_payload(out, BLOCKS, rank, at);
        MPI_Send(out, BLOCKS, MPI_INT, right, at, MPI_COMM_WORLD);
    }
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < COUNT; at++) {
        int wrong = 0;
        for (int block = 0; block < BLOCKS; block++) {
            wrong += in[at][2 * block] != payload_at(left, at, block) || in[at][2 * block + 1] != 0;
        }
        CHECK(wrong == 0, "receive %d: %d blocks are wrong", at, wrong);
        if (at % 4 == 3) MPI_Request_free(&requests[at]);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// MPI_Comm_free with receives of the communicator pending. They complete afterwards.
static void check_comm_free(void) {
    enum { COUNT = 10 };
    for (int round = 0; round < 4; round++) {
        int values[COUNT], send_value = rank + round;
        MPI_Request requests[COUNT], sends[COUNT];
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        filler_t filler = fill_queue(comm), world_filler = fill_queue(MPI_COMM_WORLD);
        for (int at = 0; at < COUNT; at++) {
            values[at] = -1;
            MPI_Irecv(&values[at], 1, MPI_INT, at % 2 ? left : MPI_ANY_SOURCE, at, comm, &requests[at]);
        }
        MPI_Barrier(comm);
        // All sends start before the communicator is freed.
        for (int at = 0; at < COUNT; at++) MPI_Isend(&send_value, 1, MPI_INT, right, at, comm, &sends[at]);
        int *numbers = allocate(sizeof(int) * (size_t)fill_count);
        MPI_Request *fill_sends = allocate(sizeof *fill_sends * (size_t)fill_count);
        for (int at = 0; at < fill_count; at++) {
            numbers[at] = at;
            MPI_Isend(&numbers[at], 1, MPI_INT, right, FILL_TAG + at % FILL_TAGS, comm, &fill_sends[at]);
        }
        MPI_Comm_free(&comm);
        CHECK(comm == MPI_COMM_NULL, "the communicator is not null after MPI_Comm_free");
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < COUNT; at++) {
            CHECK(values[at] == left + round, "receive %d has message %d", at, values[at]);
        }
        wait_fillers(&filler);
        MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE), MPI_Waitall(fill_count, fill_sends, MPI_STATUSES_IGNORE);
        free(numbers), free(fill_sends);
        empty_queue(MPI_COMM_WORLD, &world_filler);
    }
}

// MPI_Comm_disconnect waits for pending communication of the communicator.
static void check_comm_disconnect(void) {
    enum { COUNT = 10 };
    int values[COUNT], send_value = rank;
    MPI_Request requests[COUNT], sends[COUNT];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < COUNT; at++) {
        values[at] = -1;
        MPI_Irecv(&values[at], 1, MPI_INT, left, at, comm, &requests[at]);
    }
    for (int at = 0; at < COUNT; at++) MPI_Isend(&send_value, 1, MPI_INT, right, at, comm, &sends[at]);
    // MPI requires that requests of a disconnected communicator are complete.
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE), MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
    MPI_Comm_disconnect(&comm);
    CHECK(comm == MPI_COMM_NULL, "the communicator is not null after MPI_Comm_disconnect");
    for (int at = 0; at < COUNT; at++) CHECK(values[at] == left, "receive %d has message %d", at, values[at]);
    empty_queue(MPI_COMM_WORLD, &filler);
}

static int ring_once(MPI_Comm comm, int number) {
    int value = -1;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, number % 2 ? left : MPI_ANY_SOURCE, number % 100, comm, &request);
    MPI_Send(&number, 1, MPI_INT, right, number % 100, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return value;
}

// A receive waits on each of many communicators, one after another.
static void check_serial(int serial) {
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    for (int at = 0; at < serial; at++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        int value = ring_once(comm, at);
        CHECK(value == at, "communicator %d has message %d", at, value);
        MPI_Comm_free(&comm);
    }
    empty_queue(MPI_COMM_WORLD, &filler);
}

// A receive waits on each of many communicators that exist at once. Then messages arrive in reverse order.
static void check_alive(int wanted) {
    MPI_Comm *comms = allocate(sizeof *comms * (size_t)wanted);
    MPI_Request *requests = allocate(sizeof *requests * (size_t)wanted);
    int *values = allocate(sizeof *values * (size_t)wanted), alive = 0;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (alive < wanted && MPI_Comm_dup(MPI_COMM_WORLD, &comms[alive]) == MPI_SUCCESS) alive++;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int at = 0; at < alive; at++) {
        values[at] = -1;
        MPI_Irecv(&values[at], 1, MPI_INT, at % 2 ? left : MPI_ANY_SOURCE, 3, comms[at], &requests[at]);
    }
    for (int at = alive - 1; at >= 0; at--) MPI_Send(&at, 1, MPI_INT, right, 3, comms[at]);
    MPI_Waitall(alive, requests, MPI_STATUSES_IGNORE);
    for (int at = 0; at < alive; at++) {
        CHECK(values[at] == at, "communicator %d has message %d", at, values[at]);
        MPI_Comm_free(&comms[at]);
    }
    if (rank == 0) printf("lifetime: %d communicators at once\n", alive);
    empty_queue(MPI_COMM_WORLD, &filler);
    free(comms), free(requests), free(values);
}

static int deletions;

static int count_deletion(MPI_Comm comm, int key, void *value, void *extra) {
    int size = 0;
    (void)key, (void)extra;
    if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &size);
    CHECK(size == ranks && value == &deletions, "the delete callback has wrong arguments");
    deletions++;
    return MPI_SUCCESS;
}

// Attributes are deleted once per freed communicator, also when a receive is pending.
static void check_attributes(void) {
    int key;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deletion, &key, NULL);
    for (int round = 0; round < 10; round++) {
        MPI_Comm comm;
        MPI_Request request;
        int value = -1;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_attr(comm, key, &deletions);
        MPI_Irecv(&value, 1, MPI_INT, left, 4, comm, &request);
        MPI_Send(&round, 1, MPI_INT, right, 4, comm);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(value == round, "round %d has message %d", round, value);
        CHECK(deletions == round + 1, "round %d: %d calls of the delete callback", round, deletions);
    }
    MPI_Comm_free_keyval(&key);
    empty_queue(MPI_COMM_WORLD, &filler);
}

static long resident_kib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file != NULL) fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// Communicators are freed with a message that is not received, and a persistent receive that is not started.
static void check_unreceived(int count) {
    enum { MOST_KIB = 2048 };
    long halfway = 0;
    for (int at = 0; at < count; at++) {
        MPI_Comm comm;
        MPI_Request request;
        int value = -1;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Recv_init(&value, 1, MPI_INT, left, 7, comm, &request);
        MPI_Send(&at, 1, MPI_INT, right, 5, comm);
        MPI_Send(&at, 1, MPI_INT, right, 6, comm);
        MPI_Recv(&value, 1, MPI_INT, left, 6, comm, MPI_STATUS_IGNORE);
        CHECK(value == at, "communicator %d has message %d", at, value);
        if (at % 2) MPI_Request_free(&request);
        MPI_Comm_free(&comm);
        if (at % 2 == 0) MPI_Request_free(&request);
        if (at == count / 2) halfway = resident_kib();
    }
    long growth = resident_kib() - halfway;
    CHECK(count == 0 || growth < MOST_KIB, "%d communicators: the process grows by %ld KiB", count / 2, growth);
}

// MPICH 5.0 aborts in MPI_Finalize if messages are unmatched.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000 && !defined(I_MPI_VERSION)
enum { FINALIZE_ABORTS = 1 };
#else
enum { FINALIZE_ABORTS = 0 };
#endif

// Leaves unexpected messages and cancelled and freed receives for MPI_Finalize.
static void leave_messages(void) {
    enum { COUNT = 300 };
    static int values[COUNT];
    MPI_Request requests[COUNT];
    for (int at = 0; at < COUNT; at++) {
        MPI_Irecv(&values[at], 1, MPI_INT, left, 1000 + at, MPI_COMM_WORLD, &requests[at]);
    }
    for (int at = 0; at < COUNT; at++) {
        MPI_Cancel(&requests[at]);
        if (at % 2)
            MPI_Request_free(&requests[at]);
        else
            MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    }
    if (FINALIZE_ABORTS) {
        report_skip("unexpected messages at MPI_Finalize", "the library aborts");
        return;
    }
    for (int at = 0; at < COUNT; at++) MPI_Send(&at, 1, MPI_INT, right, 500, MPI_COMM_WORLD);
    MPI_Probe(left, 500, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "lifetime");
    step = "datatypes", check_types();
    step = "MPI_Comm_free", check_comm_free();
    step = "MPI_Comm_disconnect", check_comm_disconnect();
    step = "communicators one after another", check_serial((int)option(argc, argv, "--serial", ranks > 2 ? 512 : 4096));
    step = "communicators at once", check_alive((int)option(argc, argv, "--alive", ranks > 2 ? 200 : 1000));
    step = "messages not received", check_unreceived((int)option(argc, argv, "--unreceived", 0));
    step = "attributes", check_attributes();
    step = "left messages", leave_messages();
    return finish();
}
