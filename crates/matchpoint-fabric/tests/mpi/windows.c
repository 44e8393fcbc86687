// One-sided communication with messages in transit, and threads.
#include "checks.h"

#include <pthread.h>

enum { WORDS = 5000 };

void windows_fence(void) {
    int *window, *local = memory(sizeof(int) * WORDS);
    MPI_Win win;
    MPI_Win_allocate(sizeof(int) * WORDS * (MPI_Aint)ranks, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    for (int round = 0; round < 4; round++) {
        int count = round % 2 ? WORDS : 10, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
        for (int at = 0; at < WORDS * ranks; at++) window[at] = 0;
        for (int at = 0; at < WORDS; at++) local[at] = rank * 10 + at + round;
        MPI_Win_fence(0, win);
        // One message before the window's epoch, one after.
        MPI_Request requests[4];
        int first = rank, second = rank + 50, first_in = -1, second_in = -1;
        MPI_Irecv(&first_in, 1, MPI_INT, from, 70, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&first, 1, MPI_INT, to, 70, MPI_COMM_WORLD, &requests[1]);
        for (int target = 0; target < ranks; target++) {
            MPI_Put(local, count, MPI_INT, target, (MPI_Aint)WORDS * rank, count, MPI_INT, win);
        }
        MPI_Isend(&second, 1, MPI_INT, to, 71, MPI_COMM_WORLD, &requests[2]);
        MPI_Win_fence(0, win);
        MPI_Irecv(&second_in, 1, MPI_INT, MPI_ANY_SOURCE, 71, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        CHECK(first_in == from && second_in == from + 50, "messages beside a window: %d, %d", first_in, second_in);
        for (int origin = 0; origin < ranks; origin++) {
            CHECK(window[WORDS * origin + count - 1] == origin * 10 + count - 1 + round, "put by %d", origin);
        }
        MPI_Win_fence(0, win);
        int got = -1, one = 1;
        MPI_Get(&got, 1, MPI_INT, to, (MPI_Aint)WORDS * from, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(got == from * 10 + round, "get: %d", got);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 5, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_fence(0, win);
        if (rank == 0) CHECK(window[5] == 5 + round + ranks, "%d ranks have added one: %d", ranks, window[5]);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
    free(local);
}

void windows_lock(void) {
    int *window;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int) * 16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int at = 0; at < 16; at++) window[at] = 0;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 10; round++) {
        int target = (rank + round) % ranks, old = -1, one = 1;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Fetch_and_op(&one, &old, MPI_INT, target, 3, MPI_SUM, win);
        MPI_Win_unlock(target, win);
        CHECK(old >= 0 && old < 10 * ranks, "fetched %d", old);
        MPI_Sendrecv(&one, 1, MPI_INT, (rank + 1) % ranks, 72, &old, 1, MPI_INT, (rank + ranks - 1) % ranks, 72,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int total = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MPI_Get(&total, 1, MPI_INT, rank, 3, 1, MPI_INT, win);
    MPI_Win_unlock(rank, win);
    CHECK(total == 10, "ten additions make %d", total);
    MPI_Win_free(&win);
}

enum { THREADS = 4 };
static MPI_Comm own[THREADS];

// Each thread exchanges messages with its counterpart on the next rank: by tag on a shared communicator, and with
// wildcards on its own communicator.
static void *thread(void *argument) {
    int me = (int)(intptr_t)argument, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    char *out = memory(20000), *in = memory(20000);
    for (int round = 0; round < 200 * effort; round++) {
        int bytes = round % 10 == 9 ? 20000 : 16 + round % 1200;
        header_t sent = {(uint32_t)rank, (uint32_t)me, 0, (uint32_t)round}, due = {(uint32_t)from, (uint32_t)me, 0, (uint32_t)round};
        MPI_Request request;
        MPI_Status status;
        fill(out, bytes, sent);
        MPI_Isend(out, bytes, MPI_BYTE, to, me, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 20000, MPI_BYTE, round % 2 ? from : MPI_ANY_SOURCE, me, MPI_COMM_WORLD, &status);
        check_status(&status, from, me, bytes);
        CHECK(is_filled(in, bytes, due), "thread %d, round %d", me, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isend(out, bytes, MPI_BYTE, to, round, own[me], &request);
        MPI_Message handle;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own[me], &handle, &status);
        MPI_Mrecv(in, 20000, MPI_BYTE, &handle, &status);
        check_status(&status, from, round, bytes);
        CHECK(is_filled(in, bytes, due), "thread %d, its own communicator, round %d", me, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(out), free(in);
    return NULL;
}

void threads(void) {
    pthread_t running[THREADS];
    for (int at = 0; at < THREADS; at++) MPI_Comm_dup(MPI_COMM_WORLD, &own[at]);
    for (int at = 0; at < THREADS; at++) pthread_create(&running[at], NULL, thread, (void *)(intptr_t)at);
    for (int at = 0; at < THREADS; at++) pthread_join(running[at], NULL);
    for (int at = 0; at < THREADS; at++) MPI_Comm_free(&own[at]);
}
