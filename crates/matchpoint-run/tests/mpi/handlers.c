// An error handler is called for every error of a thread, while another thread receives with new datatypes.
//
//     mpiexec -n 1..4 handlers [--fill N] [--rounds N]
#include "checks.h"

#include <pthread.h>

static atomic_int handler_calls, is_done;

static void count_call(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code, handler_calls++; }

// Receives with a new datatype each, until the other thread is done.
static void *receive_types(void *unused) {
    (void)unused;
    while (!is_done) {
        int value;
        MPI_Datatype type;
        MPI_Request request;
        MPI_Type_contiguous(1, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Irecv(&value, 1, type, rank, 1, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
    return NULL;
}

static void check_handlers(int rounds) {
    MPI_Errhandler handler;
    pthread_t thread;
    int value = 0;
    filler_t filler = fill_queue(MPI_COMM_WORLD);
    MPI_Comm_create_errhandler(count_call, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    pthread_create(&thread, NULL, receive_types, NULL);
    for (int round = 0; round < rounds; round++) MPI_Send(&value, 1, MPI_INT, ranks, 1, MPI_COMM_WORLD);
    is_done = 1;
    pthread_join(thread, NULL);
    CHECK(handler_calls == rounds, "%d errors, %d calls of the handler", rounds, handler_calls);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    empty_queue(MPI_COMM_WORLD, &filler);
}

int main(int argc, char **argv) {
    int provided;
    begin_without_mpi(argc, argv, "handlers");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    find_neighbours();
    if (provided == MPI_THREAD_MULTIPLE)
        check_handlers((int)option(argc, argv, "--rounds", 20000));
    else
        report_skip("all checks", "the library has no MPI_THREAD_MULTIPLE");
    return finish();
}
