// Long queues and many outstanding requests.
#include "checks.h"

static header_t header(int source, int tag, int number) { return (header_t){(uint32_t)source, 3, (uint32_t)tag, (uint32_t)number}; }

// Rank 0 receives many small messages in reverse order.
void reverse(void) {
    int total = 20000 * effort, each = total / (ranks - 1);
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        char message[48];
        for (int number = each - 1; number >= 0; number--) {
            for (int source = ranks - 1; source > 0; source--) {
                MPI_Status status;
                MPI_Recv(message, sizeof message, MPI_BYTE, number % 2 ? source : MPI_ANY_SOURCE, number,
                         MPI_COMM_WORLD, &status);
                CHECK(status.MPI_TAG == number, "asked for tag %d, was given %d", number, status.MPI_TAG);
                CHECK(is_filled(message, sizeof message, header(status.MPI_SOURCE, number, number)),
                      "message %d of %d is not what was sent", number, status.MPI_SOURCE);
            }
        }
    } else {
        char *messages = memory((size_t)each * 48);
        MPI_Request *requests = memory(sizeof *requests * (size_t)each);
        for (int number = 0; number < each; number++) {
            fill(messages + (size_t)number * 48, 48, header(rank, number, number));
            MPI_Isend(messages + (size_t)number * 48, 48, MPI_BYTE, 0, number, MPI_COMM_WORLD, &requests[number]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(each, requests, MPI_STATUSES_IGNORE);
        free(messages), free(requests);
    }
}

// Both sides have many outstanding sends of one length before the first receive.
static void many(int count, int bytes, int is_synchronous) {
    int other = partner();
    if (other < 0) return;
    char *out = memory((size_t)bytes), *in = memory((size_t)bytes);
    MPI_Request *requests = memory(sizeof *requests * (size_t)count);
    fill(out, bytes, header(rank, bytes, count));
    for (int at = 0; at < count; at++) {
        if (is_synchronous)
            MPI_Issend(out, bytes, MPI_BYTE, other, at % 7, MPI_COMM_WORLD, &requests[at]);
        else
            MPI_Isend(out, bytes, MPI_BYTE, other, at % 7, MPI_COMM_WORLD, &requests[at]);
    }
    for (int tag = 6; tag >= 0; tag--) {
        for (int at = tag; at < count; at += 7) {
            memset(in, 0, (size_t)bytes);
            MPI_Recv(in, bytes, MPI_BYTE, tag % 2 ? other : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(in, bytes, header(other, bytes, count)), "one of %d messages of %d bytes", count, bytes);
        }
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(out), free(in), free(requests);
}

void outstanding(void) {
    many(5000 * effort, 0, 1);
    many(5000 * effort, 1024, 0);
    many(2000 * effort, 2000, 0);
    many(1000 * effort, 20000, 0);
    many(500 * effort, 20000, 1);
    // More than a table of 65,536 operations.
    if (effort >= 10) many(80000, 17000, 0);
}

// Completions in order of arrival, by each function that waits for some requests.
void waits(void) {
    int other = partner();
    if (other < 0) return;
    enum { COUNT = 200 };
    static char in[COUNT][2000], out[COUNT][2000];
    MPI_Request requests[COUNT], sends[COUNT];
    for (int round = 0; round < 4; round++) {
        for (int at = 0; at < COUNT; at++) {
            MPI_Irecv(in[at], 2000, MPI_BYTE, at % 5 ? other : MPI_ANY_SOURCE, at, MPI_COMM_WORLD, &requests[at]);
        }
        for (int at = COUNT - 1; at >= 0; at--) {
            int bytes = at * 10;
            fill(out[at], bytes, header(rank, at, round));
            MPI_Isend(out[at], bytes, MPI_BYTE, other, at, MPI_COMM_WORLD, &sends[at]);
        }
        for (int left = COUNT; left > 0;) {
            int which[COUNT], done = 0;
            MPI_Status statuses[COUNT];
            switch (round) {
            case 0: MPI_Waitany(COUNT, requests, which, statuses), done = 1; break;
            case 1: MPI_Waitsome(COUNT, requests, &done, which, statuses); break;
            case 2: MPI_Testsome(COUNT, requests, &done, which, statuses); break;
            default: MPI_Testany(COUNT, requests, which, &done, statuses); break;
            }
            for (int at = 0; at < done; at++) {
                check_status(&statuses[at], other, which[at], which[at] * 10);
                CHECK(is_filled(in[which[at]], which[at] * 10, header(other, which[at], round)), "receive %d", which[at]);
                left--;
            }
        }
        MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
    }
}
