/* A master with tasks, and workers that request tasks: the primes below a bound, interval by interval, as in
 * parameter studies, tree searches and rendering.
 *
 * Matching: the master knows neither the source nor the length of the next answer. It probes for any source
 * and any tag and receives the found message by source and tag. With --iprobe it probes without waiting. With
 * --direct it posts receives with both wildcards instead. Workers receive from rank 0 with any tag: the tag
 * distinguishes tasks from the end.
 *
 * The primes must equal those of the sieve of Eratosthenes. */
#include "example.h"

enum { TASK, END, READY, PRIMES };

static long bound = 20000, interval = 100, iprobe = 0, direct = 0;

static bool is_prime(long number) {
    for (long divisor = 2; divisor * divisor <= number; divisor++)
        if (number % divisor == 0) return false;
    return number >= 2;
}

/* Works until the end message. */
static void work(void) {
    int length = 0, *primes = ALLOCATE(int, interval);
    MPI_Send(NULL, 0, MPI_INT, 0, READY, MPI_COMM_WORLD);
    for (;;) {
        int begin;
        MPI_Status status;
        MPI_Recv(&begin, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == END) break;
        length = 0;
        for (long number = begin; number < begin + interval && number < bound; number++)
            if (is_prime(number)) primes[length++] = (int)number;
        MPI_Send(primes, length, MPI_INT, 0, PRIMES, MPI_COMM_WORLD);
    }
    free(primes);
}

/* The next message of any worker: its number of primes, and its rank. */
static int next_answer(int *primes, int *worker) {
    MPI_Status status;
    int length;
    if (direct) {
        MPI_Recv(primes, (int)interval, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &length);
    } else {
        int found = !iprobe;
        if (!iprobe) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        while (!found) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
        MPI_Get_count(&status, MPI_INT, &length);
        int from = status.MPI_SOURCE, tag = status.MPI_TAG;
        MPI_Recv(primes, length, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    *worker = status.MPI_SOURCE;
    return length;
}

/* Distributes all tasks, and marks the returned primes. */
static void manage(int workers, bool *found) {
    int *primes = ALLOCATE(int, interval);
    for (long next = 0; workers > 0; next += interval) {
        int worker, length = next_answer(primes, &worker), begin = (int)next;
        for (int i = 0; i < length; i++) found[primes[i]] = !found[primes[i]];
        if (next < bound) {
            MPI_Send(&begin, 1, MPI_INT, worker, TASK, MPI_COMM_WORLD);
        } else {
            MPI_Send(NULL, 0, MPI_INT, worker, END, MPI_COMM_WORLD);
            workers--;
        }
    }
    free(primes);
}

static long wrong_numbers(const bool *found) {
    bool *composite = ALLOCATE(bool, bound);
    long wrong = 0;
    for (long number = 0; number < bound; number++) {
        bool prime = number >= 2 && !composite[number];
        wrong += found[number] != prime;
        if (prime)
            for (long multiple = 2 * number; multiple < bound; multiple += number) composite[multiple] = true;
    }
    free(composite);
    return wrong;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--bound", &bound, "primes below this", false},
        {"--interval", &interval, "numbers in a task", false},
        {"--iprobe", &iprobe, "the master probes without waiting", true},
        {"--direct", &direct, "the master receives with wildcards, without probing", true},
    };
    int ranks, rank;
    long wrong = 0;
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ranks < 2) refuse("master_worker: one rank is a master without workers");
    if (rank == 0) {
        bool *found = ALLOCATE(bool, bound);
        manage(ranks - 1, found);
        wrong = wrong_numbers(found);
        free(found);
    } else {
        work();
    }
    return finish(wrong == 0, "master_worker: %d workers, %ld tasks, %s", ranks - 1, (bound + interval - 1) / interval,
                  direct ? "received with wildcards" : iprobe ? "Iprobe" : "Probe");
}
