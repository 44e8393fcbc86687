/* Measures the time of a message, with empty and with long queues. Needs at least two processes. Rank 0 prints one line
 * of JSON. Arguments: number of rounds (results are medians over the rounds), number of unexpected messages in the
 * gather, and maximum number of unexpected messages. The program omits cases above the maximum, because some stacks
 * fail with so many.
 *
 * latency, messages: half round trips of 8 bytes and 1 KiB; rates of windows of 64 messages and 64 receives.
 * posted, unexpected: the same latency while rank 1 has that many receives, or messages, that match nothing.
 * probed: the lower bound of overflow matching above this MPI library: rank 1 receives with MPI_Improbe, MPI_Imrecv and
 * MPI_Wait, without an engine. Shuffled: rank 0 takes all messages with MPI_Improbe, then receives them shuffled.
 * gather: all other ranks send to rank 0. Rank 0 receives after all messages have arrived. The senders then sleep until
 * rank 0 has received all messages, so that on few cores the time is that of the search. In order: source by source,
 * oldest first. Shuffled: source by source, in an order in which the next message is not at the front of a list.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

enum { WINDOW = 64, LAST = 30000, NOTHING = 20000, TINY = 8, LONGER = 1024 };

static int rank, ranks, rounds, is_probing;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

static MPI_Message probe_any(void)
{
    MPI_Message message;
    int found = 0;
    while (!found)
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    return message;
}

static void receive_probed(char *text, int bytes, MPI_Message message)
{
    MPI_Request request;
    MPI_Imrecv(text, bytes, MPI_CHAR, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void there_and_back(int times, int bytes)
{
    static char text[LONGER];
    for (int i = 0; i < times; i++) {
        if (rank == 0) {
            MPI_Send(text, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(text, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            if (is_probing)
                receive_probed(text, bytes, probe_any());
            else
                MPI_Recv(text, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(text, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
}

static double latency_ns(int times, int bytes)
{
    double took[rounds];
    there_and_back(times / 4 + 1, bytes);
    for (int round = 0; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime();
        there_and_back(times, bytes);
        took[round] = (MPI_Wtime() - begun) / times / 2 * 1e9;
    }
    return median(took, rounds);
}

static double rate(int windows, int bytes)
{
    static char texts[WINDOW][LONGER];
    MPI_Request requests[WINDOW];
    double took[rounds];
    for (int round = -1; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime();
        for (int i = 0; i < windows; i++) {
            char ready = 0;
            for (int j = 0; j < WINDOW && rank < 2; j++) {
                if (rank == 0)
                    MPI_Isend(texts[j], bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[j]);
                else
                    MPI_Irecv(texts[j], bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[j]);
            }
            if (rank < 2)
                MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            if (rank == 0)
                MPI_Recv(&ready, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else if (rank == 1)
                MPI_Send(&ready, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
        }
        if (round >= 0)
            took[round] = windows * WINDOW / (MPI_Wtime() - begun) / 1e6;
    }
    return median(took, rounds);
}

static double with_posted_ns(int depth, int times)
{
    MPI_Request *requests = malloc((depth + 1) * sizeof *requests);
    char *texts = calloc(depth + 1, 1);
    for (int i = 0; i < depth && rank == 1; i++)
        MPI_Irecv(&texts[i], 1, MPI_CHAR, 0, NOTHING + i, MPI_COMM_WORLD, &requests[i]);
    double ns = latency_ns(times, TINY);
    for (int i = 0; i < depth && rank == 0; i++)
        MPI_Send(&texts[i], 1, MPI_CHAR, 1, NOTHING + i, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    free(requests);
    free(texts);
    return ns;
}

static double with_unexpected_ns(int depth, int times)
{
    char text = 0;
    for (int i = 0; i < depth && rank == 0; i++)
        MPI_Send(&text, 1, MPI_CHAR, 1, NOTHING + i, MPI_COMM_WORLD);
    double ns = latency_ns(times, TINY);
    for (int i = 0; i < depth && rank == 1; i++)
        MPI_Recv(&text, 1, MPI_CHAR, 0, NOTHING + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return ns;
}

/* One figure of the line. */
static void tell(const char *name, int depth, double value)
{
    static int others;
    if (rank != 0)
        return;
    printf("%s\"", others++ ? "," : "{");
    printf(name, depth);
    printf("\":%.4f", value);
}

/* The i-th of n in an order without pattern: a step that shares no factor with n. */
static int shuffled(int i, int n)
{
    long step = 7919;
    while (n % step == 0)
        step += 2;
    return (int)((i * step + n / 2) % n);
}

/* Nanoseconds that rank 0 needs for a message of those that wait; `total` of them from all others together. */
static double gather_ns(int total, int in_order, volatile int *received)
{
    int each = total / (ranks - 1), sent = each * (ranks - 1);
    char text[8] = {0};
    MPI_Message *messages = is_probing ? malloc(sent * sizeof *messages) : NULL;
    double ns = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        *received = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        for (int i = 0; i < each; i++)
            MPI_Send(text, 8, MPI_CHAR, 0, i, MPI_COMM_WORLD);
        MPI_Send(text, 8, MPI_CHAR, 0, LAST, MPI_COMM_WORLD);
        while (!*received)
            usleep(1000);
    } else {
        for (int from = 1; from < ranks; from++)
            MPI_Recv(text, 8, MPI_CHAR, from, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(5000);
        double begun = MPI_Wtime();
        for (int i = 0; is_probing && i < sent; i++)
            messages[i] = probe_any();
        for (int i = 0; is_probing && i < sent; i++)
            receive_probed(text, 8, messages[shuffled(i, sent)]);
        for (int from = 1; from < ranks && !is_probing; from++)
            for (int i = 0; i < each; i++)
                MPI_Recv(text, 8, MPI_CHAR, from, in_order ? i : shuffled(i, each), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ns = (MPI_Wtime() - begun) * 1e9 / each / (ranks - 1);
        *received = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(messages);
    return ns;
}

/* A word that all processes of this host see. */
static volatile int *shared_word(void)
{
    char name[64] = {0};
    int descriptor = -1;
    if (rank == 0) {
        snprintf(name, sizeof name, "/matchpoint-speed-%ld", (long)getpid());
        descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (descriptor < 0 || ftruncate(descriptor, 4096) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        descriptor = shm_open(name, O_RDWR, 0);
    void *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        shm_unlink(name);
    if (word == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return word;
}

int main(int count, char **words)
{
    static const int depths[] = {0, 64, 1024, 8192};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rounds = count > 1 ? atoi(words[1]) : 21;
    int many = count > 2 ? atoi(words[2]) : 65536;
    int most = count > 3 ? atoi(words[3]) : INT_MAX;
    tell("latency_ns", 0, latency_ns(200, TINY));
    tell("messages_per_us", 0, rate(20, TINY));
    tell("latency_%d_bytes_ns", LONGER, latency_ns(200, LONGER));
    tell("messages_of_%d_bytes_per_us", LONGER, rate(20, LONGER));
    for (int i = 0; i < 4; i++)
        tell("posted_%d_ns", depths[i], with_posted_ns(depths[i], 50));
    for (int i = 0; i < 4; i++)
        if (depths[i] <= most)
            tell("unexpected_%d_ns", depths[i], with_unexpected_ns(depths[i], 50));
    volatile int *received = shared_word();
    for (int in_order = 0; in_order < 2; in_order++) {
        double few[9];
        if (most < 64)
            continue;
        for (int i = 0; i < 9; i++)
            few[i] = gather_ns(64, in_order, received);
        tell(in_order ? "gather_in_order_64_ns" : "gather_shuffled_64_ns", 0, median(few, 9));
        if (many <= most)
            tell(in_order ? "gather_in_order_many_ns" : "gather_shuffled_many_ns", 0, gather_ns(many, in_order, received));
    }
    is_probing = 1;
    tell("probed_ns", 0, latency_ns(50, TINY));
    if (many <= most)
        tell("gather_probed_many_ns", 0, gather_ns(many, 0, received));
    if (rank == 0)
        printf("}\n");
    MPI_Finalize();
    return 0;
}
