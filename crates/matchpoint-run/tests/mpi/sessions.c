// Receives wait on a communicator of a session, without MPI_Init.
//
//     mpiexec -n 1..4 sessions [--fill N] [--rounds N]
//
// More than one round initializes MPI again after its last session has ended. Not every library supports this.
#include "checks.h"

#if HAS_MPI4_CALLS

static MPI_Comm comm_of_session(MPI_Session session) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "matchpoint.sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void exchange(MPI_Comm comm) {
    enum { COUNT = 20 };
    int values[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status status;
    filler_t filler = fill_queue(comm);
    for (int at = 0; at < COUNT; at++) {
        values[at] = -1;
        MPI_Irecv(&values[at], 1, MPI_INT, at % 2 ? left : MPI_ANY_SOURCE, at, comm, &requests[at]);
    }
    for (int at = COUNT - 1; at >= 0; at--) MPI_Send(&at, 1, MPI_INT, right, at, comm);
    for (int at = 0; at < COUNT; at++) {
        MPI_Wait(&requests[at], &status);
        CHECK_STATUS(&status, left, at, 4);
        CHECK(values[at] == at, "receive %d has message %d", at, values[at]);
    }
    empty_queue(comm, &filler);
}

static int run(long rounds) {
    int sum = 0;
    for (long round = 0; round < rounds; round++) {
        MPI_Session session, second;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Comm comm = comm_of_session(session);
        MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &ranks);
        left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
        exchange(comm);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
        MPI_Comm other = comm_of_session(second);
        exchange(other), exchange(comm);
        MPI_Comm_free(&other);
        MPI_Session_finalize(&second);
        int own = failures;
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    }
    return sum;
}

#else

static int run(long rounds) {
    (void)rounds;
    MPI_Init(NULL, NULL);
    find_neighbours();
    report_skip("all checks", "the library has no sessions");
    MPI_Finalize();
    return 0;
}

#endif

int main(int argc, char **argv) {
    begin_without_mpi(argc, argv, "sessions");
    int sum = run(option(argc, argv, "--rounds", 1));
    if (rank == 0) printf("sessions: %s\n", sum ? "wrong" : "right");
    return sum != 0;
}
