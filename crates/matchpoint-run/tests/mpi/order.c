// Matching order under random operations, checked for every pair of receives (MPI 4.1, section 3.5).
//
//     mpiexec -n 2..8 order [--fill N] [--seed N] [--rounds N] [--operations N] [--threads]
//
// Let two receives of one rank have messages of one source and communicator. If the receive that was posted later has
// the message that was sent earlier, the other receive must not accept the earlier message. With --threads, two threads
// of each rank run at once. Each thread has a communicator, and both use a shared communicator with different tags.
#include "checks.h"

#include <pthread.h>

enum { THREADS = 2, COMMS = 2, MOST_TAGS = 6, SMALL = sizeof(int) * 5, LARGE = 24000, MIXED = 8 };

typedef struct message {
    int source, number, tag, comm, bytes;
} message_t;

typedef struct receive {
    int source, tag, comm, is_done, is_cancelled, is_persistent;
    char *buffer;
    MPI_Request request;
} receive_t;

typedef struct send {
    int is_done, ends_alone;
    char *buffer;
    MPI_Request request;
} send_t;

// One sequence of operations, of a rank or of a thread.
typedef struct stress {
    MPI_Comm comms[COMMS];
    int has_shared_comm, first_tag, tags, operations, receives, sends, received;
    receive_t *receive;
    send_t *send;
    int *sent, *expected, *numbers;
    random_t random;
    long pairs, wildcards, cancelled;
} stress_t;

static const message_t *message_of(const receive_t *receive) { return (const message_t *)receive->buffer; }

static int random_tag(stress_t *s) { return s->first_tag + random_below(&s->random, s->tags); }

// In the shared communicator the tag identifies the thread, so no receive there uses MPI_ANY_TAG.
static int may_use_any_tag(const stress_t *s, int comm) { return comm == 0 || !s->has_shared_comm; }

static receive_t *new_receive(stress_t *s, int source, int tag, int comm) {
    receive_t *receive = &s->receive[s->receives++];
    *receive = (receive_t){.source = source, .tag = tag, .comm = comm, .request = MPI_REQUEST_NULL};
    receive->buffer = malloc(LARGE);
    return receive;
}

static void complete_receive(stress_t *s, receive_t *receive, const MPI_Status *status) {
    int is_cancelled;
    MPI_Test_cancelled(status, &is_cancelled);
    receive->is_done = 1, receive->is_cancelled = is_cancelled;
    if (receive->is_persistent) MPI_Request_free(&receive->request);
    if (is_cancelled) {
        s->cancelled++;
        return;
    }
    s->received++;
    const message_t *message = message_of(receive);
    CHECK_STATUS(status, message->source, message->tag, message->bytes);
    CHECK(message->comm == receive->comm, "communicator %d has a message of %d", receive->comm, message->comm);
    CHECK(receive->source == MPI_ANY_SOURCE || receive->source == message->source, "source %d received from %d",
          receive->source, message->source);
    CHECK(receive->tag == MPI_ANY_TAG || receive->tag == message->tag, "tag %d received %d", receive->tag, message->tag);
    CHECK(message->bytes == SMALL || receive->buffer[LARGE - 1] == (char)message->number, "last byte is wrong");
}

static void post_receive(stress_t *s, int wildcard_percent) {
    int comm = random_below(&s->random, COMMS);
    int source = random_below(&s->random, 100) < wildcard_percent ? MPI_ANY_SOURCE : random_below(&s->random, ranks);
    int is_any_tag = may_use_any_tag(s, comm) && random_below(&s->random, 100) < wildcard_percent;
    receive_t *receive = new_receive(s, source, is_any_tag ? MPI_ANY_TAG : random_tag(s), comm);
    receive->is_persistent = random_below(&s->random, 10) == 0;
    if (receive->is_persistent) {
        MPI_Recv_init(receive->buffer, LARGE, MPI_BYTE, source, receive->tag, s->comms[comm], &receive->request);
        MPI_Start(&receive->request);
    } else {
        MPI_Irecv(receive->buffer, LARGE, MPI_BYTE, source, receive->tag, s->comms[comm], &receive->request);
    }
}

static void post_send(stress_t *s) {
    int to = random_below(&s->random, ranks), comm = random_below(&s->random, COMMS);
    int is_large = random_below(&s->random, 30) == 0, is_synchronous = random_below(&s->random, 12) == 0;
    message_t message = {rank, s->numbers[to * COMMS + comm]++, random_tag(s), comm, is_large ? LARGE : (int)SMALL};
    send_t *send = &s->send[s->sends++];
    *send = (send_t){.ends_alone = !is_large && !is_synchronous, .buffer = allocate((size_t)message.bytes)};
    memset(send->buffer, message.number, (size_t)message.bytes);
    memcpy(send->buffer, &message, sizeof message);
    s->sent[to]++;
    if (is_synchronous)
        MPI_Issend(send->buffer, message.bytes, MPI_BYTE, to, message.tag, s->comms[comm], &send->request);
    else
        MPI_Isend(send->buffer, message.bytes, MPI_BYTE, to, message.tag, s->comms[comm], &send->request);
}

static receive_t *random_pending(stress_t *s) {
    if (s->receives == 0) return NULL;
    receive_t *receive = &s->receive[random_below(&s->random, s->receives)];
    return receive->is_done ? NULL : receive;
}

static void test_receive(stress_t *s) {
    receive_t *receive = random_pending(s);
    MPI_Status status;
    int is_complete;
    if (!receive) return;
    MPI_Test(&receive->request, &is_complete, &status);
    if (is_complete) complete_receive(s, receive, &status);
}

static void cancel_receive(stress_t *s, receive_t *receive) {
    MPI_Status status;
    if (!receive) return;
    MPI_Cancel(&receive->request);
    MPI_Wait(&receive->request, &status);
    complete_receive(s, receive, &status);
}

// Probes with random wildcards. If there is a message, receives it.
static void probe(stress_t *s) {
    int comm = random_below(&s->random, COMMS), is_found, is_matched = random_below(&s->random, 2);
    int source = random_below(&s->random, 2) ? MPI_ANY_SOURCE : random_below(&s->random, ranks);
    int tag = may_use_any_tag(s, comm) && random_below(&s->random, 2) ? MPI_ANY_TAG : random_tag(s);
    MPI_Status found, status;
    if (is_matched) {
        MPI_Message handle;
        MPI_Improbe(source, tag, s->comms[comm], &is_found, &handle, &found);
        if (!is_found) return;
        receive_t *receive = new_receive(s, source, tag, comm);
        MPI_Mrecv(receive->buffer, LARGE, MPI_BYTE, &handle, &status);
        CHECK_STATUS(&status, found.MPI_SOURCE, found.MPI_TAG, count_of(&found));
        complete_receive(s, receive, &status);
    } else {
        MPI_Iprobe(source, tag, s->comms[comm], &is_found, &found);
        if (!is_found) return;
        receive_t *receive = new_receive(s, found.MPI_SOURCE, found.MPI_TAG, comm);
        MPI_Recv(receive->buffer, LARGE, MPI_BYTE, found.MPI_SOURCE, found.MPI_TAG, s->comms[comm], &status);
        CHECK_STATUS(&status, found.MPI_SOURCE, found.MPI_TAG, count_of(&found));
        complete_receive(s, receive, &status);
    }
}

// An array of receives and sends in random order, with null requests.
typedef struct mixed {
    MPI_Request requests[MIXED];
    receive_t *receive[MIXED];
    send_t *send[MIXED];
    int has_send_that_ends;
} mixed_t;

static int is_in_mix(const mixed_t *mixed, int before, const void *entry) {
    for (int at = 0; at < before; at++) {
        if (mixed->receive[at] == entry || mixed->send[at] == entry) return 1;
    }
    return 0;
}

static mixed_t mix(stress_t *s) {
    mixed_t mixed = {.has_send_that_ends = 0};
    for (int at = 0; at < MIXED; at++) {
        mixed.requests[at] = MPI_REQUEST_NULL;
        if (random_below(&s->random, 2) && s->sends) {
            send_t *send = &s->send[random_below(&s->random, s->sends)];
            if (send->is_done || is_in_mix(&mixed, at, send)) continue;
            mixed.send[at] = send, mixed.requests[at] = send->request;
            mixed.has_send_that_ends |= send->ends_alone;
        } else {
            receive_t *receive = random_pending(s);
            if (!receive || is_in_mix(&mixed, at, receive)) continue;
            mixed.receive[at] = receive, mixed.requests[at] = receive->request;
        }
    }
    return mixed;
}

static void complete_mixed(stress_t *s, mixed_t *mixed, int at, const MPI_Status *status) {
    if (mixed->send[at]) {
        mixed->send[at]->is_done = 1;
        mixed->send[at]->request = MPI_REQUEST_NULL;
    } else if (mixed->receive[at]) {
        mixed->receive[at]->request = mixed->requests[at];
        complete_receive(s, mixed->receive[at], status);
    }
}

// Completes some requests of a mixed array. Calls that wait are used only if one small standard send is in the array.
static void complete_some(stress_t *s) {
    mixed_t mixed = mix(s);
    MPI_Status statuses[MIXED];
    int indices[MIXED], count = 0, is_complete = 0;
    switch (random_below(&s->random, mixed.has_send_that_ends ? 5 : 3)) {
    case 0:
        MPI_Testall(MIXED, mixed.requests, &is_complete, statuses);
        for (int at = 0; at < MIXED && is_complete; at++) complete_mixed(s, &mixed, at, &statuses[at]);
        return;
    case 1: MPI_Testsome(MIXED, mixed.requests, &count, indices, statuses); break;
    case 2:
        MPI_Testany(MIXED, mixed.requests, &indices[0], &is_complete, statuses);
        count = is_complete && indices[0] != MPI_UNDEFINED;
        break;
    case 3: MPI_Waitsome(MIXED, mixed.requests, &count, indices, statuses); break;
    case 4: MPI_Waitany(MIXED, mixed.requests, &indices[0], statuses), count = 1; break;
    }
    for (int at = 0; at < count && count != MPI_UNDEFINED; at++) complete_mixed(s, &mixed, indices[at], &statuses[at]);
}

// Receives the messages that no pending receive accepts.
static void receive_unexpected(stress_t *s) {
    for (int comm = 0; comm < COMMS; comm++) {
        int is_any = may_use_any_tag(s, comm);
        for (int at = 0; at < (is_any ? 1 : s->tags); at++) {
            int tag = is_any ? MPI_ANY_TAG : s->first_tag + at, is_found;
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, tag, s->comms[comm], &is_found, MPI_STATUS_IGNORE);
            if (!is_found) continue;
            receive_t *receive = new_receive(s, MPI_ANY_SOURCE, tag, comm);
            MPI_Recv(receive->buffer, LARGE, MPI_BYTE, MPI_ANY_SOURCE, tag, s->comms[comm], &status);
            complete_receive(s, receive, &status);
        }
    }
}

// Receives all messages of the round, then cancels the receives without a message.
static void receive_rest(stress_t *s) {
    int expected = 0;
    MPI_Alltoall(s->sent, 1, MPI_INT, s->expected, 1, MPI_INT, s->comms[0]);
    for (int source = 0; source < ranks; source++) expected += s->expected[source];
    while (s->received < expected) {
        for (int at = 0; at < s->receives; at++) {
            receive_t *receive = &s->receive[at];
            MPI_Status status;
            int is_complete;
            if (receive->is_done) continue;
            MPI_Test(&receive->request, &is_complete, &status);
            if (is_complete) complete_receive(s, receive, &status);
        }
        receive_unexpected(s);
    }
    for (int at = 0; at < s->receives; at++) {
        if (s->receive[at].is_done) continue;
        cancel_receive(s, &s->receive[at]);
        CHECK(s->receive[at].is_cancelled, "receive %d has a message that was not sent", at);
    }
    CHECK(s->received == expected, "%d messages received, %d sent", s->received, expected);
    for (int at = 0; at < s->sends; at++) MPI_Wait(&s->send[at].request, MPI_STATUS_IGNORE);
}

static void check_order(stress_t *s) {
    for (int later = 0; later < s->receives; later++) {
        const receive_t *b = &s->receive[later];
        if (b->is_cancelled) continue;
        s->wildcards += b->source == MPI_ANY_SOURCE;
        for (int earlier = 0; earlier < later; earlier++) {
            const receive_t *a = &s->receive[earlier];
            if (a->is_cancelled || a->comm != b->comm || message_of(a)->source != message_of(b)->source) continue;
            s->pairs++;
            CHECK(message_of(a)->number < message_of(b)->number || (a->tag != MPI_ANY_TAG && a->tag != message_of(b)->tag),
                  "receive %d (source %d, tag %d) has message %d, later receive %d has message %d of source %d, tag %d",
                  earlier, a->source, a->tag, message_of(a)->number, later, message_of(b)->number,
                  message_of(b)->source, message_of(b)->tag);
        }
    }
}

static void run_round(stress_t *s, long seed, int stream, int fillers) {
    s->random = random_from(seed, stream);
    s->receives = s->sends = s->received = 0, s->tags = 1 + random_below(&s->random, MOST_TAGS);
    // Ranks agree on the tags, so that most messages have a receive.
    MPI_Bcast(&s->tags, 1, MPI_INT, 0, s->comms[0]);
    memset(s->sent, 0, sizeof(int) * (size_t)ranks);
    memset(s->numbers, 0, sizeof(int) * (size_t)ranks * COMMS);
    int wildcard_percent = random_below(&s->random, 4) * 12, post_percent = 30 + random_below(&s->random, 30);
    filler_t filler = post_fillers(s->comms[0], left, fillers);
    for (int operation = 0; operation < s->operations; operation++) {
        int kind = random_below(&s->random, 100);
        if (kind < post_percent)
            post_receive(s, wildcard_percent);
        else if (kind < 86)
            post_send(s);
        else if (kind < 89)
            test_receive(s);
        else if (kind < 91)
            cancel_receive(s, random_pending(s));
        else if (kind < 95)
            probe(s);
        else
            complete_some(s);
    }
    receive_rest(s);
    check_order(s);
    for (int at = 0; at < s->receives; at++) free(s->receive[at].buffer);
    for (int at = 0; at < s->sends; at++) free(s->send[at].buffer);
    MPI_Barrier(s->comms[0]);
    send_fillers(s->comms[0], right, fillers);
    wait_fillers(&filler);
}

static long seed, rounds, operations;
static long totals[3];
static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;

static void run_stress(MPI_Comm first, MPI_Comm second, int thread, int has_shared_comm) {
    stress_t s = {.comms = {first, second}, .has_shared_comm = has_shared_comm, .first_tag = thread * 100};
    s.operations = (int)operations;
    // Every message may need a receive after the probe that found it.
    s.receive = allocate((size_t)(operations * (ranks + 2)) * sizeof *s.receive);
    s.send = allocate((size_t)operations * sizeof *s.send);
    s.sent = allocate(sizeof(int) * (size_t)ranks), s.expected = allocate(sizeof(int) * (size_t)ranks);
    s.numbers = allocate(sizeof(int) * (size_t)ranks * COMMS);
    for (int round = 0; round < rounds; round++) {
        run_round(&s, seed + round, rank * THREADS + thread, round % 2 ? fill_count : 0);
    }
    free(s.receive), free(s.send), free(s.sent), free(s.expected), free(s.numbers);
    pthread_mutex_lock(&totals_lock);
    totals[0] += s.pairs, totals[1] += s.wildcards, totals[2] += s.cancelled;
    pthread_mutex_unlock(&totals_lock);
}

static MPI_Comm shared_comm, thread_comms[THREADS];

static void *run_thread(void *argument) {
    int thread = (int)(intptr_t)argument;
    run_stress(thread_comms[thread], shared_comm, thread, 1);
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) MPI_Comm_dup(MPI_COMM_WORLD, &thread_comms[at]);
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, run_thread, (void *)(intptr_t)at);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    for (int at = 0; at < THREADS; at++) MPI_Comm_free(&thread_comms[at]);
}

int main(int argc, char **argv) {
    int has_threads = has_flag(argc, argv, "--threads"), level;
    begin_without_mpi(argc, argv, "order");
    MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    find_neighbours();
    seed = option(argc, argv, "--seed", 1), rounds = option(argc, argv, "--rounds", 60);
    operations = option(argc, argv, "--operations", 500);
    step = has_threads ? "threads" : "one thread";
    MPI_Comm_dup(MPI_COMM_WORLD, &shared_comm);
    if (!has_threads)
        run_stress(MPI_COMM_WORLD, shared_comm, 0, 0);
    else if (level < MPI_THREAD_MULTIPLE)
        report_skip("threads", "the library does not provide MPI_THREAD_MULTIPLE");
    else
        run_threads();
    long sums[3];
    MPI_Reduce(totals, sums, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("order: %ld pairs, %ld any-source receives, %ld cancelled\n", sums[0], sums[1], sums[2]);
    MPI_Comm_free(&shared_comm);
    return finish();
}
