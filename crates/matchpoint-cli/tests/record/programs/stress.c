/* Difficult cases for the rings of the recorder: records longer than a ring, records of all lengths across the end of a
 * ring, and many short threads. The program counts its MPI calls and messages. */
#include "example.h"

#include <pthread.h>
#include <stdint.h>

static long huge = 1, wraps = 1, threads = 1;
static int rank, ranks;

static uint64_t state;

static long random_below(long bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (long)(state % (uint64_t)bound);
}

/* Sends `many` messages to the next rank, completed by one MPI call. Further messages go to MPI_PROC_NULL, because Open
 * MPI 4.1 takes a minute for thousands of pending messages. */
static void exchange(int many, char *data, MPI_Request *requests, MPI_Comm comm, int tag)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    for (int i = 0; i < many; i++)
        MPI_Irecv(&data[i], 1, MPI_CHAR, i < 2000 ? from : MPI_PROC_NULL, tag, comm, &requests[i]);
    for (int i = 0; i < many; i++)
        MPI_Isend(&data[i + many], 1, MPI_CHAR, i < 2000 ? to : MPI_PROC_NULL, tag, comm, &requests[i + many]);
    MPI_Waitall(2 * many, requests, MPI_STATUSES_IGNORE);
}

static void *short_lived(void *argument)
{
    int tag = (int)(intptr_t)argument, in = -1;
    MPI_Sendrecv(&tag, 1, MPI_INT, rank, tag, &in, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return in == tag ? argument : NULL;
}

int main(int argc, char **argv)
{
    static const struct setting settings[] = {
        {"--huge", &huge, "requests completed at once", false},
        {"--wraps", &wraps, "rounds with some hundred requests at most", false},
        {"--threads", &threads, "threads, one after the other in groups of four", false},
    };
    int provided;
    bool is_right = true;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    state = 88172645463325252u;
    size_t most = (size_t)(huge > 1000 ? huge : 1000);
    char *data = ALLOCATE(char, 2 * most);
    MPI_Request *requests = ALLOCATE(MPI_Request, 2 * most);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 2; round++)
        exchange((int)huge / 2, data, requests, comm, 32767 - round);
    for (long round = 0; round < wraps; round++) {
        exchange((int)random_below(round % 8 == 0 ? 300 : 9), data, requests, round % 3 ? comm : MPI_COMM_WORLD,
                 (int)random_below(32768));
        /* The records have all lengths modulo the length of the ring. */
        if (random_below(3) == 0)
            MPI_Startall(0, requests);
    }
    for (long begun = 0; provided == MPI_THREAD_MULTIPLE && begun < threads; begun += 4) {
        pthread_t group[4];
        void *result;
        for (long i = 0; i < 4; i++)
            pthread_create(&group[i], NULL, short_lived, (void *)(intptr_t)(begun + i + 1));
        for (long i = 0; i < 4; i++) {
            pthread_join(group[i], &result);
            is_right &= result != NULL;
        }
    }
    MPI_Comm_free(&comm);
    return finish(is_right, "stress");
}
