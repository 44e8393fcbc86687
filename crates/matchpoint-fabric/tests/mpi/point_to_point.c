// Two ranks: sizes, send modes, probes, truncation, cancels, messages to self.
#include "checks.h"

// Both sides of every limit of MPI libraries, core providers and Matchpoint.
static const int lengths[] = {0,    1,    8,    63,   64,    65,    128,   192,   256,   1023,  1024,   1025,   2048,
                              4095, 4096, 4097, 8192, 16383, 16384, 16385, 16448, 32768, 65535, 65536, 131072, 300000,
                              5000000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static header_t header(int source, int tag, int number) { return (header_t){(uint32_t)source, 0, (uint32_t)tag, (uint32_t)number}; }

// Receives a message and checks it.
static void receive(int from, int tag, int bytes, int number, int named_source, int named_tag) {
    char *message = memory((size_t)bytes + 8);
    memset(message, 0x5A, (size_t)bytes + 8);
    MPI_Status status;
    MPI_Recv(message, bytes, MPI_BYTE, named_source, named_tag, MPI_COMM_WORLD, &status);
    check_status(&status, from, tag, bytes);
    CHECK(is_filled(message, bytes, header(from, tag, number)), "a message of %d bytes is not what was sent", bytes);
    for (int at = 0; at < 8; at++) CHECK(message[bytes + at] == 0x5A, "written beyond a receive of %d bytes", bytes);
    free(message);
}

typedef int (*sender_t)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static void send(int to, int tag, int bytes, int number, sender_t sender) {
    char *message = memory((size_t)bytes);
    fill(message, bytes, header(rank, tag, number));
    sender(message, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    free(message);
}

// One direction at a time, each size: receive before message, then message before receive.
void sizes(void) {
    int other = partner();
    for (int turn = 0; turn < 2; turn++) {
        for (int at = 0; at < LENGTHS && other >= 0; at++) {
            int bytes = lengths[at], is_sender = (rank & 1) == turn;
            if (is_sender) {
                MPI_Recv(NULL, 0, MPI_BYTE, other, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                send(other, 1, bytes, at, MPI_Send);
            } else {
                char *message = memory((size_t)bytes);
                MPI_Request request;
                MPI_Status status;
                MPI_Irecv(message, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request);
                MPI_Send(NULL, 0, MPI_BYTE, other, 90, MPI_COMM_WORLD);
                MPI_Wait(&request, &status);
                check_status(&status, other, 1, bytes);
                CHECK(is_filled(message, bytes, header(other, 1, at)), "%d bytes, expected, are not what was sent", bytes);
                free(message);
            }
            // Unexpected, with all four combinations of wildcards.
            for (int wild = 0; wild < 4; wild++) {
                if (is_sender) {
                    char *message = memory((size_t)bytes);
                    fill(message, bytes, header(rank, 2, at));
                    MPI_Request request;
                    MPI_Isend(message, bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD, &request);
                    MPI_Send(NULL, 0, MPI_BYTE, other, 91, MPI_COMM_WORLD);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                    free(message);
                } else {
                    MPI_Recv(NULL, 0, MPI_BYTE, other, 91, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    receive(other, 2, bytes, at, wild & 1 ? MPI_ANY_SOURCE : other, wild & 2 ? MPI_ANY_TAG : 2);
                }
            }
        }
    }
}

void modes(void) {
    int other = partner(), room = 400000 + MPI_BSEND_OVERHEAD;
    if (other < 0) return;
    char *buffer = memory((size_t)room);
    const int some[] = {0, 1, 1024, 1025, 16384, 16385, 300000};
    for (int at = 0; at < 7; at++) {
        int bytes = some[at];
        for (int turn = 0; turn < 2; turn++) {
            if ((rank & 1) == turn) {
                // A synchronous send must not complete before its receive is posted.
                char *message = memory((size_t)bytes);
                fill(message, bytes, header(rank, 3, at));
                MPI_Request request;
                int is_done = 0;
                MPI_Issend(message, bytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, &request);
                for (int i = 0; i < 20; i++) {
                    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
                    if (is_done) break;
                    pause_ms(1);
                }
                CHECK(!is_done, "a synchronous send of %d bytes ended before it was received", bytes);
                MPI_Send(NULL, 0, MPI_BYTE, other, 92, MPI_COMM_WORLD);
                if (!is_done) MPI_Wait(&request, MPI_STATUS_IGNORE);
                free(message);
                MPI_Buffer_attach(buffer, room);
                send(other, 4, bytes, at, MPI_Bsend);
                int size;
                void *attached;
                MPI_Buffer_detach(&attached, &size);
                MPI_Recv(NULL, 0, MPI_BYTE, other, 93, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                send(other, 5, bytes, at, MPI_Rsend);
            } else {
                MPI_Recv(NULL, 0, MPI_BYTE, other, 92, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                receive(other, 3, bytes, at, other, 3);
                receive(other, 4, bytes, at, MPI_ANY_SOURCE, 4);
                char *message = memory((size_t)bytes);
                MPI_Request request;
                MPI_Irecv(message, bytes, MPI_BYTE, other, 5, MPI_COMM_WORLD, &request);
                MPI_Send(NULL, 0, MPI_BYTE, other, 93, MPI_COMM_WORLD);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                CHECK(is_filled(message, bytes, header(other, 5, at)), "a ready send of %d bytes came otherwise", bytes);
                free(message);
            }
        }
    }
    free(buffer);
}

// Four unexpected messages: a probe finds the right one, a matched probe takes it, the others keep their order.
void probes(void) {
    int other = partner();
    if (other < 0) return;
    for (int at = 0; at < LENGTHS - 1; at++) {
        int bytes = lengths[at], flag = 0;
        char *message = memory((size_t)bytes);
        MPI_Request requests[4];
        char *sent[4];
        for (int i = 0; i < 4; i++) {
            sent[i] = memory((size_t)bytes);
            fill(sent[i], bytes, header(rank, 10 + i % 2, i));
            MPI_Isend(sent[i], bytes, MPI_BYTE, other, 10 + i % 2, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Status status;
        MPI_Iprobe(other, 77, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag, "a probe found a message with a tag that nobody has used");
        MPI_Probe(other, 11, MPI_COMM_WORLD, &status);
        check_status(&status, other, 11, bytes);
        MPI_Message handle;
        MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &handle, &status);
        check_status(&status, other, 11, bytes);
        // The taken message is not found again: the next message with this tag is the fourth.
        MPI_Recv(message, bytes, MPI_BYTE, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &status);
        CHECK(is_filled(message, bytes, header(other, 11, 3)), "after a matched probe, the next of %d bytes is another", bytes);
        MPI_Mrecv(message, bytes, MPI_BYTE, &handle, &status);
        check_status(&status, other, 11, bytes);
        CHECK(is_filled(message, bytes, header(other, 11, 1)), "a matched receive of %d bytes got another", bytes);
        for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &handle, &status);
        check_status(&status, other, 10, bytes);
        MPI_Request request;
        MPI_Imrecv(message, bytes, MPI_BYTE, &handle, &request);
        MPI_Wait(&request, &status);
        CHECK(is_filled(message, bytes, header(other, 10, 0)), "the oldest of %d bytes is another", bytes);
        for (flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        check_status(&status, other, 10, bytes);
        receive(other, 10, bytes, 2, status.MPI_SOURCE, status.MPI_TAG);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 4; i++) free(sent[i]);
        free(message);
        MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 94, NULL, 0, MPI_BYTE, other, 94, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void truncate_one(int other, int bytes, int room, int is_expected) {
    char *message = memory((size_t)bytes);
    MPI_Request request;
    if (rank & 1) {
        memset(message, 0x5A, (size_t)bytes);
        MPI_Status status;
        int code, class = 0;
        if (is_expected) {
            MPI_Irecv(message, room, MPI_BYTE, other, 20, MPI_COMM_WORLD, &request);
            MPI_Send(NULL, 0, MPI_BYTE, other, 95, MPI_COMM_WORLD);
            code = MPI_Wait(&request, &status);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, other, 95, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            code = MPI_Recv(message, room, MPI_BYTE, other, 20, MPI_COMM_WORLD, &status);
        }
        if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_TRUNCATE, "%d bytes into %d, %s: error class %d", bytes, room,
              is_expected ? "expected" : "unexpected", class);
        int beyond = 0;
        for (int at = room; at < bytes; at++) beyond |= message[at] != 0x5A;
        CHECK(!beyond, "%d bytes into %d, %s: written beyond", bytes, room, is_expected ? "expected" : "unexpected");
        receive(other, 21, 8, room, other, 21);
    } else {
        fill(message, bytes, header(rank, 20, 0));
        if (is_expected) {
            MPI_Recv(NULL, 0, MPI_BYTE, other, 95, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Isend(message, bytes, MPI_BYTE, other, 20, MPI_COMM_WORLD, &request);
        } else {
            MPI_Isend(message, bytes, MPI_BYTE, other, 20, MPI_COMM_WORLD, &request);
            MPI_Send(NULL, 0, MPI_BYTE, other, 95, MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        send(other, 21, 8, room, MPI_Send);
    }
    free(message);
}

void truncation(void) {
    int other = partner();
    if (other < 0 || truncates == 0) return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int bytes[] = {1, 65, 1000, 5000, 20000, 300000};
    for (int at = truncates == 2 ? 0 : 1; at < (truncates == 2 ? 6 : 4); at++) {
        for (int is_expected = 0; is_expected < 2; is_expected++) {
            if (truncates == 2) truncate_one(other, bytes[at], 0, is_expected);
            truncate_one(other, bytes[at], bytes[at] - 1, is_expected);
            truncate_one(other, bytes[at], bytes[at] / 2, is_expected);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// Cancels the oldest, the youngest and a middle receive. The others take messages in order.
void cancelling(void) {
    int other = partner();
    if (other < 0) return;
    enum { POSTED = 60 };
    char messages[POSTED][64];
    MPI_Request requests[POSTED];
    random_t random = random_of((uint64_t)rank, 5, 0);
    int is_cancelled[POSTED] = {0}, left = 0, theirs = 0;
    for (int at = 0; at < POSTED; at++) {
        int source = at % 3 == 0 ? MPI_ANY_SOURCE : other;
        MPI_Irecv(messages[at], 64, MPI_BYTE, source, 30, MPI_COMM_WORLD, &requests[at]);
    }
    for (int at = 0; at < POSTED; at++) {
        is_cancelled[at] = at == 0 || at == POSTED - 1 || random_below(&random, 2);
        left += !is_cancelled[at];
    }
    for (int at = 0; at < POSTED; at++) {
        if (!is_cancelled[at]) continue;
        MPI_Status status;
        int flag = 0;
        MPI_Cancel(&requests[at]);
        MPI_Wait(&requests[at], &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag, "receive %d could not be cancelled, though there was no message", at);
    }
    MPI_Sendrecv(&left, 1, MPI_INT, other, 96, &theirs, 1, MPI_INT, other, 96, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < theirs; at++) send(other, 30, 64, at, MPI_Send);
    for (int at = 0, number = 0; at < POSTED; at++) {
        if (is_cancelled[at]) continue;
        MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
        CHECK(is_filled(messages[at], 64, header(other, 30, number)), "receive %d, after others were cancelled", at);
        number++;
    }
    // A race: the receive is either cancelled or completed.
    for (int at = 0; at < 200; at++) {
        MPI_Request receive_request, send_request;
        MPI_Status status;
        int flag = 0;
        char out[64], in[64];
        fill(out, 64, header(rank, 31, at));
        MPI_Irecv(in, 64, MPI_BYTE, other, 31, MPI_COMM_WORLD, &receive_request);
        MPI_Isend(out, 64, MPI_BYTE, other, 31, MPI_COMM_WORLD, &send_request);
        MPI_Cancel(&receive_request);
        MPI_Wait(&receive_request, &status);
        MPI_Test_cancelled(&status, &flag);
        if (flag) MPI_Recv(in, 64, MPI_BYTE, other, 31, MPI_COMM_WORLD, &status);
        CHECK(is_filled(in, 64, header(other, 31, at)), "message %d, its receive %s", at, flag ? "cancelled" : "kept");
        MPI_Wait(&send_request, MPI_STATUS_IGNORE);
    }
}

void selves(void) {
    for (int at = 0; at < LENGTHS; at++) {
        int bytes = lengths[at];
        char *out = memory((size_t)bytes), *in = memory((size_t)bytes);
        fill(out, bytes, header(rank, 40, at));
        MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
        for (int which = 0; which < 2; which++) {
            int self = which ? 0 : rank;
            MPI_Request request;
            MPI_Status status;
            MPI_Isend(out, bytes, MPI_BYTE, self, 40, comms[which], &request);
            MPI_Recv(in, bytes, MPI_BYTE, at % 2 ? self : MPI_ANY_SOURCE, 40, comms[which], &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check_status(&status, self, 40, bytes);
            CHECK(is_filled(in, bytes, header(rank, 40, at)), "%d bytes to oneself are not what was sent", bytes);
        }
        free(out), free(in);
    }
    MPI_Status status;
    char nothing = 7;
    MPI_Recv(&nothing, 1, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    CHECK(nothing == 7 && status.MPI_SOURCE == MPI_PROC_NULL, "a receive from MPI_PROC_NULL received");
}

// Persistent requests in both directions, several rounds. In one round, a receive starts late.
void persistent(void) {
    int other = partner();
    if (other < 0) return;
    enum { PAIRS = 20 };
    const int some[] = {0, 64, 1025, 16385, 100000};
    char *out[PAIRS], *in[PAIRS];
    MPI_Request requests[2 * PAIRS];
    for (int at = 0; at < PAIRS; at++) {
        int bytes = some[at % 5];
        out[at] = memory((size_t)bytes), in[at] = memory((size_t)bytes);
        int tag = 50 + at % 3, source = at % 4 == 3 ? MPI_ANY_SOURCE : other;
        MPI_Recv_init(in[at], bytes, MPI_BYTE, source, 50 + at, MPI_COMM_WORLD, &requests[at]);
        tag = 50 + at;
        if (at % 2)
            MPI_Ssend_init(out[at], bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, &requests[PAIRS + at]);
        else
            MPI_Send_init(out[at], bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, &requests[PAIRS + at]);
    }
    for (int round = 0; round < 30; round++) {
        for (int at = 0; at < PAIRS; at++) fill(out[at], some[at % 5], header(rank, 50 + at, round));
        if (round % 2) {
            MPI_Startall(2 * PAIRS, requests);
        } else {
            MPI_Startall(PAIRS, requests + PAIRS);
            for (int at = PAIRS - 1; at >= 0; at--) MPI_Start(&requests[at]);
        }
        MPI_Waitall(2 * PAIRS, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < PAIRS; at++) {
            CHECK(is_filled(in[at], some[at % 5], header(other, 50 + at, round)), "request %d, round %d", at, round);
        }
    }
    for (int at = 0; at < 2 * PAIRS; at++) MPI_Request_free(&requests[at]);
    for (int at = 0; at < PAIRS; at++) free(out[at]), free(in[at]);
}
