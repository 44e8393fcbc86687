// Many unexpected messages, received in shuffled order.
//
//     mpiexec -n 2..8 flood [--messages N] [--limit SECONDS]
//
// All ranks except rank 0 send. Rank 0 receives every message by its tag. Every second receive uses MPI_ANY_SOURCE.
// A library that searches its queue linearly needs a time that grows with the square of the number of messages.
#include "checks.h"

// Memory of this process in MiB: the line `name` of its status file, or 0.
static double memory_mib(const char *name) {
    char line[256];
    double mib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) == 0) mib = atof(line + strlen(name) + 1) / 1024;
    }
    if (file) fclose(file);
    return mib;
}

static int sender_of(long message) { return 1 + (int)(message % (ranks - 1)); }

// Tags repeat if the library's largest tag is less than the number of messages. Then messages of one sender and tag have
// an order.
static long tags_of(long messages) {
    int *limit, is_set;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &is_set);
    long most = is_set ? (long)*limit + 1 : 32768;
    most -= most % (ranks - 1);
    return messages < most ? messages : most;
}

static void send_all(long messages, long tags) {
    for (long at = 0; at < messages; at++) {
        if (sender_of(at) == rank) MPI_Send(&at, 1, MPI_LONG, 0, (int)(at % tags), MPI_COMM_WORLD);
    }
}

static void receive_all(int messages, long tags) {
    int *order = allocate((size_t)messages * sizeof *order), *received = allocate((size_t)tags * sizeof *received);
    random_t random = random_from(1, 0);
    for (int at = 0; at < messages; at++) order[at] = at;
    shuffle(order, messages, &random);
    for (int at = 0; at < messages; at++) {
        long tag = order[at] % tags, value = -1, expected = tag + tags * received[tag]++;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_LONG, at % 2 ? MPI_ANY_SOURCE : sender_of(tag), (int)tag, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, sender_of(tag), (int)tag, (int)sizeof(long));
        CHECK(value == expected, "tag %ld has message %ld, expected %ld", tag, value, expected);
    }
    free(order), free(received);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "flood");
    long messages = option(argc, argv, "--messages", 65536), tags = tags_of(messages);
    double before = memory_mib("VmRSS"), start;
    step = "send";
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (rank > 0) send_all(messages, tags);
    MPI_Barrier(MPI_COMM_WORLD);
    double sent = MPI_Wtime(), with_messages = memory_mib("VmRSS");
    step = "receive";
    if (rank == 0) {
        receive_all((int)messages, tags);
        double received = MPI_Wtime();
        printf("flood: %ld messages sent in %.2f s, received in %.2f s (%.2f us each)\n", messages, sent - start,
               received - sent, (received - sent) * 1e6 / (double)messages);
        printf("flood: memory of rank 0: %.1f MiB before, %.1f MiB with all messages, %.1f MiB after, %.1f MiB at most\n",
               before, with_messages, memory_mib("VmRSS"), memory_mib("VmHWM"));
    }
    return finish();
}
