// Receives wait on the intercommunicator to processes that this program starts from its own file.
//
//     mpiexec -n 1..2 spawn [--fill N]
#include "checks.h"

enum { COUNT = 40 };

// MPICH 5.0 hangs if receives with MPI_ANY_SOURCE wait on a communicator of two parents and two started processes.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000 && !defined(I_MPI_VERSION)
enum { ANY_SOURCE_HANGS = 1 };
#else
enum { ANY_SOURCE_HANGS = 0 };
#endif

// Fills the queue of the merged communicator and empties it.
static void fill_merged(MPI_Comm merged) {
    step = "merged communicator";
    if (ANY_SOURCE_HANGS) return;
    filler_t filler = fill_queue(merged);
    empty_queue(merged, &filler);
}

// Each side sends COUNT messages to every process of the other side, in reverse order of their tags.
static void exchange(MPI_Comm between) {
    int remote;
    MPI_Comm_remote_size(between, &remote);
    int total = remote * COUNT, *values = allocate(sizeof *values * (size_t)total);
    MPI_Request *requests = allocate(sizeof *requests * (size_t)total);
    for (int at = 0; at < total; at++) {
        values[at] = -1;
        // Every process of the other side sends one message of each tag.
        MPI_Irecv(&values[at], 1, MPI_INT, at % remote, at / remote, between, &requests[at]);
    }
    for (int tag = COUNT - 1; tag >= 0; tag--) {
        for (int to = 0; to < remote; to++) MPI_Send(&tag, 1, MPI_INT, to, tag, between);
    }
    for (int at = 0; at < total; at++) {
        MPI_Status status;
        MPI_Wait(&requests[at], &status);
        CHECK_STATUS(&status, at % remote, at / remote, 4);
        CHECK(values[at] == at / remote, "receive %d has message %d", at, values[at]);
    }
    free(values), free(requests);
}

static void run_parent(const char *program) {
    MPI_Comm between, merged;
    char fill[20], name[] = "--fill";
    snprintf(fill, sizeof fill, "%d", fill_count);
    char *arguments[] = {name, fill, NULL};
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (code != MPI_SUCCESS) {
        report_skip("all checks", "MPI_Comm_spawn returns an error");
        empty_queue(MPI_COMM_WORLD, &filler);
        return;
    }
    step = "exchange", exchange(between);
    step = "merge";
    MPI_Intercomm_merge(between, 0, &merged);
    if (ANY_SOURCE_HANGS) report_skip("queue of the merged communicator", "the library hangs with any-source receives");
    fill_merged(merged);
    int own = failures, sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, merged);
    step = "disconnect";
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&between);
    step = "end";
    empty_queue(MPI_COMM_WORLD, &filler);
    CHECK(sum == 0, "%d failures on both sides", sum);
}

static void run_child(MPI_Comm between) {
    MPI_Comm merged;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    step = "exchange", exchange(between);
    step = "merge";
    MPI_Intercomm_merge(between, 1, &merged);
    fill_merged(merged);
    int own = failures, sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, merged);
    step = "disconnect";
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&between);
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    begin(&argc, &argv, "spawn");
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        step = "MPI_Comm_spawn", run_parent(argv[0]);
        return finish();
    }
    step = "start of the child", run_child(parent);
    MPI_Finalize();
    return failures != 0;
}
