/* Measures the time of MPI calls. `cargo xtask bench-record` runs this program with the recorder and without.
 *
 * Usage: overhead CALLS ROUNDS. Prints one JSON object: nanoseconds per call, the median of the rounds. The calls are
 * the shortest of MPI, so that the added time is visible: sends to MPI_PROC_NULL, probes without a message. With two
 * processes, also half the round trip of 8 bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void sends(int calls)
{
    char byte = 0;
    for (int i = 0; i < calls; i++)
        MPI_Send(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
}

static void isends_and_waits(int calls)
{
    char byte = 0;
    for (int i = 0; i < calls; i += 2) {
        MPI_Request request;
        MPI_Isend(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void probes(int calls)
{
    for (int i = 0, found; i < calls; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

/* Half a round trip is two calls, one at each end. */
static void ping_pong(int calls)
{
    char bytes[8] = {0};
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; size == 2 && i < calls; i += 2) {
        if (rank == 0)
            MPI_Send(bytes, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(bytes, 8, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(bytes, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(int calls);
        int share; /* of the calls asked for, one in so many */
    } loops[] = {{"send", sends, 1}, {"isend_wait", isends_and_waits, 1}, {"iprobe", probes, 1}, {"ping_pong", ping_pong, 20},
                 /* Rounds in each of which the recorder packs and writes, ten times a second: of the others that is a part. */
                 {"long_ping_pong", ping_pong, 2}};
    MPI_Init(&count, &arguments);
    int calls = count > 1 ? atoi(arguments[1]) : 100000, rounds = count > 2 ? atoi(arguments[2]) : 9, rank;
    double *times = malloc((size_t)(rounds > 0 ? rounds : 1) * sizeof *times);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (times == NULL || rounds < 1 || calls < 20)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        int part = calls / loops[i].share;
        for (int round = 0; round < rounds; round++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            loops[i].run(part);
            times[round] = (MPI_Wtime() - begin) * 1e9 / part;
        }
        if (rank == 0)
            printf("%s\"%s_ns\": %.2f", i == 0 ? "{" : ", ", loops[i].name, median(times, rounds));
    }
    if (rank == 0)
        printf("}\n");
    free(times);
    MPI_Finalize();
    return 0;
}
