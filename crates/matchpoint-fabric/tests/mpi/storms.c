// Random messages between all ranks, equal on every rank. The checks: no message overtakes another that the same
// receives match (MPI 4.1, section 3.5), and each message arrives once and whole.
#include "checks.h"

// The wildcards of a stream's receives. Each stream has a separate communicator.
enum { NAMED, ANY_TAG, ANY_SOURCE, ANY, STREAMS };
enum { TAGS = 5 };

static const int lengths[] = {0, 16, 20, 64, 65, 128, 1000, 1024, 1025, 4096, 16383, 16384, 16385, 65536, 300000};

// A message. Its content follows from source, target and number.
typedef struct message {
    int source, target, stream, tag, number, bytes, is_synchronous;
    char *buffer;
} message_t;

typedef struct storm {
    MPI_Comm comms[STREAMS];
    int per_pair, longest;
} storm_t;

static message_t message_of(const storm_t *storm, int source, int target, int number) {
    random_t random = random_of((uint64_t)source + 1, (uint64_t)target + 1, (uint64_t)number + 7);
    message_t message = {.source = source, .target = target, .number = number};
    message.stream = random_below(&random, STREAMS);
    message.tag = random_below(&random, TAGS);
    message.bytes = lengths[random_below(&random, random_below(&random, 8) ? 7 : storm->longest)];
    message.is_synchronous = random_below(&random, 6) == 0;
    return message;
}

static header_t header_of(const message_t *message) {
    return (header_t){(uint32_t)message->source, (uint32_t)message->stream, (uint32_t)message->tag,
                      (uint32_t)message->number};
}

static int length_of(const message_t *message) {
    return message->bytes > 0 && message->bytes < 16 ? 16 : message->bytes;
}

static void shuffle(int *order, int count, random_t *random) {
    for (int at = count - 1; at > 0; at--) {
        int with = random_below(random, at + 1), kept = order[at];
        order[at] = order[with], order[with] = kept;
    }
}

// Sends all messages of this rank, in order per target, with the targets mixed.
static int send_all(const storm_t *storm, message_t *sends, MPI_Request *requests) {
    random_t random = random_of((uint64_t)rank, 77, 0);
    int *sent = calloc((size_t)ranks, sizeof *sent), total = storm->per_pair * ranks;
    for (int at = 0; at < total; at++) {
        int target = random_below(&random, ranks);
        while (sent[target] == storm->per_pair) target = (target + 1) % ranks;
        message_t *message = &sends[at];
        *message = message_of(storm, rank, target, sent[target]++);
        message->buffer = memory((size_t)length_of(message));
        fill(message->buffer, length_of(message), header_of(message));
        if (message->is_synchronous)
            MPI_Issend(message->buffer, length_of(message), MPI_BYTE, target, message->tag,
                       storm->comms[message->stream], &requests[at]);
        else
            MPI_Isend(message->buffer, length_of(message), MPI_BYTE, target, message->tag,
                      storm->comms[message->stream], &requests[at]);
    }
    free(sent);
    return total;
}

// A receive: its criteria, and the size of its buffer.
typedef struct wanted {
    int stream, source, tag, room;
    char *buffer;
} wanted_t;

// The receives for all messages, in random order. Each kind has as many receives as messages.
static int wanted_of(const storm_t *storm, wanted_t *wanted) {
    int total = storm->per_pair * ranks, at = 0;
    int *order = memory(sizeof *order * (size_t)total);
    wanted_t *sorted = memory(sizeof *sorted * (size_t)total);
    for (int source = 0; source < ranks; source++) {
        for (int number = 0; number < storm->per_pair; number++, at++) {
            message_t message = message_of(storm, source, rank, number);
            int names_source = message.stream == NAMED || message.stream == ANY_TAG;
            int names_tag = message.stream == NAMED || message.stream == ANY_SOURCE;
            sorted[at] = (wanted_t){message.stream, names_source ? source : MPI_ANY_SOURCE,
                                    names_tag ? message.tag : MPI_ANY_TAG, 0, NULL};
            order[at] = at;
        }
    }
    random_t random = random_of((uint64_t)rank, 78, 1);
    shuffle(order, total, &random);
    for (at = 0; at < total; at++) {
        wanted[at] = sorted[order[at]];
        wanted[at].room = lengths[storm->longest - 1];
        wanted[at].buffer = NULL;
    }
    free(order), free(sorted);
    return total;
}

// The last received message of a source in each stream, per tag if the receives name the tag.
typedef struct seen {
    int last[STREAMS][TAGS];
} seen_t;

// Checks receives in posted order: content and message order.
static void check_received(const storm_t *storm, seen_t *seen, int stream, const char *buffer, MPI_Status *status) {
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    int source = status->MPI_SOURCE, tag = status->MPI_TAG;
    if (source < 0 || source >= ranks || tag < 0 || tag >= TAGS) {
        wrong("a message from %d with tag %d, which nobody sends", source, tag);
        return;
    }
    int by_tag = stream == NAMED || stream == ANY_SOURCE;
    int *last = &seen[source].last[stream][by_tag ? tag : 0];
    // The next message of this source in this stream (with this tag).
    int number = *last + 1;
    for (; number < storm->per_pair; number++) {
        message_t message = message_of(storm, source, rank, number);
        if (message.stream == stream && (!by_tag || message.tag == tag)) break;
    }
    *last = number;
    if (number == storm->per_pair) {
        wrong("stream %d: one message more from %d, tag %d, than it sends", stream, source, tag);
        return;
    }
    message_t message = message_of(storm, source, rank, number);
    int right = message.tag == tag && length_of(&message) == bytes;
    CHECK(right, "stream %d from %d: message %d has tag %d and %d bytes; received: tag %d, %d bytes", stream, source,
          number, message.tag, length_of(&message), tag, bytes);
    if (!right) return;
    header_t is = {0};
    memcpy(&is, buffer, bytes < (int)sizeof is ? (size_t)bytes : sizeof is);
    CHECK(is_filled(buffer, bytes, header_of(&message)),
          "stream %d from %d, tag %d: not message %d (%d bytes), or not whole; says source %u, number %u", stream,
          source, tag, number, bytes, is.source, is.number);
}

static seen_t *nothing_seen(void) {
    seen_t *seen = memory(sizeof *seen * (size_t)ranks);
    memset(seen, 0xFF, sizeof *seen * (size_t)ranks);
    return seen;
}

static void begin(storm_t *storm, int per_pair, int longest) {
    storm->per_pair = per_pair * effort, storm->longest = longest;
    for (int at = 0; at < STREAMS; at++) MPI_Comm_dup(MPI_COMM_WORLD, &storm->comms[at]);
}

static void end(storm_t *storm, message_t *sends, int count) {
    for (int at = 0; at < count; at++) free(sends[at].buffer);
    for (int at = 0; at < STREAMS; at++) MPI_Comm_free(&storm->comms[at]);
}

// Completes requests in one of four ways.
static void complete(int count, MPI_Request *requests, MPI_Status *statuses, int way) {
    if (way == 0) {
        MPI_Waitall(count, requests, statuses);
        return;
    }
    int *which = memory(sizeof *which * (size_t)count);
    MPI_Status *some = memory(sizeof *some * (size_t)count);
    for (int left = count; left > 0;) {
        int done = 1, flag = 1;
        if (way == 1)
            MPI_Waitany(count, requests, which, some);
        else if (way == 2)
            MPI_Waitsome(count, requests, &done, which, some);
        else
            MPI_Testany(count, requests, which, &flag, some);
        if (way == 3 && !flag) continue;
        for (int at = 0; at < done; at++) {
            if (which[at] == MPI_UNDEFINED) continue;
            if (statuses != MPI_STATUSES_IGNORE) statuses[which[at]] = some[at];
            left--;
        }
    }
    free(which), free(some);
}

enum { BEFORE, AFTER, BETWEEN };

static void rage(int when, int per_pair, int longest, int way) {
    storm_t storm;
    begin(&storm, per_pair, longest);
    int total = storm.per_pair * ranks;
    message_t *sends = memory(sizeof *sends * (size_t)total);
    wanted_t *wanted = memory(sizeof *wanted * (size_t)total);
    MPI_Request *requests = memory(2 * sizeof *requests * (size_t)total);
    MPI_Status *statuses = memory(sizeof *statuses * (size_t)total);
    wanted_of(&storm, wanted);
    if (when == AFTER) {
        send_all(&storm, sends, requests + total);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int at = 0; at < total; at++) {
        wanted_t *one = &wanted[at];
        one->buffer = memory((size_t)one->room);
        MPI_Irecv(one->buffer, one->room, MPI_BYTE, one->source, one->tag, storm.comms[one->stream], &requests[at]);
    }
    if (when == BEFORE) MPI_Barrier(MPI_COMM_WORLD);
    if (when != AFTER) send_all(&storm, sends, requests + total);
    complete(total, requests, statuses, way);
    complete(total, requests + total, MPI_STATUSES_IGNORE, 0);
    seen_t *seen = nothing_seen();
    for (int at = 0; at < total; at++) {
        check_received(&storm, seen, wanted[at].stream, wanted[at].buffer, &statuses[at]);
        free(wanted[at].buffer);
    }
    end(&storm, sends, total);
    free(seen), free(sends), free(wanted), free(requests), free(statuses);
}

// The number decreases with the number of ranks, so that the queue length per rank stays constant.
static int shared_by_all(int messages) { return messages / ranks > 4 ? messages / ranks : 4; }

void storm_expected(void) {
    rage(BEFORE, shared_by_all(300), 14, 0);
    rage(BEFORE, shared_by_all(200), 14, 2);
}

void storm_unexpected(void) {
    rage(AFTER, shared_by_all(300), 14, 0);
    rage(AFTER, shared_by_all(100), 15, 1);
}

void storm_mixed(void) {
    for (int way = 0; way < 4; way++) rage(BETWEEN, shared_by_all(250), 13, way);
}

// No receives are posted: probes find messages with all wildcards, and matched probes take them.
void storm_probed(void) {
    storm_t storm;
    begin(&storm, shared_by_all(250), 13);
    int total = storm.per_pair * ranks;
    message_t *sends = memory(sizeof *sends * (size_t)total);
    MPI_Request *requests = memory(sizeof *requests * (size_t)total);
    wanted_t *wanted = memory(sizeof *wanted * (size_t)total);
    wanted_of(&storm, wanted);
    send_all(&storm, sends, requests);
    seen_t *seen = nothing_seen();
    for (int at = 0; at < total; at++) {
        const wanted_t *one = &wanted[at];
        MPI_Comm comm = storm.comms[one->stream];
        MPI_Status status, received;
        MPI_Message handle;
        int bytes = 0, flag = 0;
        // Open MPI 4.1 never acknowledges a synchronous send that MPI_Mrecv received (pml/cm, mtl/ofi).
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
        int way = at % 2;
#else
        int way = at % 4;
#endif
        switch (way) {
        case 0: MPI_Probe(one->source, one->tag, comm, &status); break;
        case 1: while (!flag) MPI_Iprobe(one->source, one->tag, comm, &flag, &status); break;
        case 2: MPI_Mprobe(one->source, one->tag, comm, &handle, &status); break;
        default: while (!flag) MPI_Improbe(one->source, one->tag, comm, &flag, &handle, &status); break;
        }
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        char *buffer = memory((size_t)bytes);
        if (way < 2)
            MPI_Recv(buffer, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &received);
        else
            MPI_Mrecv(buffer, bytes, MPI_BYTE, &handle, &received);
        check_status(&received, status.MPI_SOURCE, status.MPI_TAG, bytes);
        check_received(&storm, seen, one->stream, buffer, &received);
        free(buffer);
    }
    MPI_Waitall(total, requests, MPI_STATUSES_IGNORE);
    end(&storm, sends, total);
    free(seen), free(sends), free(wanted), free(requests);
}
