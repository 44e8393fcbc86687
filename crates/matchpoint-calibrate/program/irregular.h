/* An irregular exchange, as in sparse matrix products: each rank posts its receives, starts its sends, and
 * waits for both. */

enum { REPETITIONS_MIN = 5, REPETITIONS_MAX = 400 };

struct message {
    int from, to, bytes;
    int place; /* position of its receive among the receives of its receiver */
};

/* Messages of the next exchange in the order of sending; every rank has all of them. */
static struct message *said;
static int said_count, said_room;

/* One rank's side of a message that it sends or receives. */
struct end_of_message {
    int other, tag, bytes, place;
};

struct part {
    struct end_of_message *sends, *receives; /* in the order of their start */
    int send_count, receive_count;
    char *sent, *received; /* space for all messages */
    MPI_Request *requests;
};

static void forget_messages(void) {
    said_count = 0;
}

/* Adds the messages of a line such as `0>1:800@3`: sender, receiver, bytes, position. Returns 0 for an
 * invalid message. */
static int add_messages(const char *text) {
    for (int used; *text != '\0' && *text != '\n'; text += used + (text[used] == ' ')) {
        struct message one;
        if (sscanf(text, "%d>%d:%d@%d%n", &one.from, &one.to, &one.bytes, &one.place, &used) != 4) {
            return 0;
        }
        int are_ranks = one.from >= 0 && one.from < ranks && one.to >= 0 && one.to < ranks && one.from != one.to;
        if (!are_ranks || one.bytes < 0) {
            return 0;
        }
        if (said_count == said_room) {
            said_room = said_room > 0 ? 2 * said_room : 64;
            said = realloc(said, said_room * sizeof *said);
            if (said == NULL) {
                refuse("there is no memory for so many messages", "");
            }
        }
        said[said_count++] = one;
    }
    return 1;
}

static int by_place(const void *one, const void *other) {
    int first = ((const struct end_of_message *)one)->place, second = ((const struct end_of_message *)other)->place;
    return (first > second) - (first < second);
}

static char *room_for(const struct end_of_message *ends, int count) {
    size_t all = 0;
    for (int at = 0; at < count; at++) {
        all += ends[at].bytes;
    }
    char *room = memory(all);
    /* Page faults before the measurement. */
    memset(room, 1, all);
    return room;
}

static struct part own_part(void) {
    struct part own = {0};
    /* The tag is the number of the message between the same two ranks, at most 32767 (MPI-4.1 §9.1.1). */
    int *to = memory(ranks * sizeof *to), *from = memory(ranks * sizeof *from);
    own.sends = memory(said_count * sizeof *own.sends);
    own.receives = memory(said_count * sizeof *own.receives);
    for (int at = 0; at < said_count; at++) {
        struct message one = said[at];
        if (one.from == rank) {
            own.sends[own.send_count++] = (struct end_of_message){one.to, to[one.to]++, one.bytes, 0};
        } else if (one.to == rank) {
            own.receives[own.receive_count++] =
                (struct end_of_message){one.from, from[one.from]++, one.bytes, one.place};
        }
    }
    free(to);
    free(from);
    qsort(own.receives, own.receive_count, sizeof *own.receives, by_place);
    own.sent = room_for(own.sends, own.send_count);
    own.received = room_for(own.receives, own.receive_count);
    own.requests = memory((own.send_count + own.receive_count) * sizeof *own.requests);
    return own;
}

static void end_part(struct part *own) {
    free(own->sends);
    free(own->receives);
    free(own->sent);
    free(own->received);
    free(own->requests);
}

static void begin_sends(struct part *own, MPI_Request *requests) {
    char *from = own->sent;
    for (int at = 0; at < own->send_count; from += own->sends[at++].bytes) {
        struct end_of_message one = own->sends[at];
        MPI_Isend(from, one.bytes, MPI_BYTE, one.other, one.tag, MPI_COMM_WORLD, &requests[at]);
    }
}

/* Seconds of this rank. Includes the wait of a rank that leaves the barrier early. */
static double exchanged_s(struct part *own, MPI_Comm taking_part) {
    MPI_Barrier(taking_part);
    double begin = MPI_Wtime();
    char *into = own->received;
    for (int at = 0; at < own->receive_count; into += own->receives[at++].bytes) {
        struct end_of_message one = own->receives[at];
        MPI_Irecv(into, one.bytes, MPI_BYTE, one.other, one.tag, MPI_COMM_WORLD, &own->requests[at]);
    }
    begin_sends(own, own->requests + own->receive_count);
    MPI_Waitall(own->receive_count + own->send_count, own->requests, MPI_STATUSES_IGNORE);
    return MPI_Wtime() - begin;
}

/* The ranks with messages, and rank 0, which prints. All others sleep. */
static MPI_Comm those_taking_part(const struct part *own) {
    MPI_Comm taking_part;
    int takes_part = rank == 0 || own->send_count > 0 || own->receive_count > 0;
    MPI_Comm_split(control, takes_part ? 0 : MPI_UNDEFINED, rank, &taking_part);
    return taking_part;
}

/* Fills `seconds` with repetitions until `budget_s`, including barriers. Returns their number. If ranks share
 * cores, a repetition may take a hundred times longer than another. The total time so far therefore
 * determines the number of further repetitions, at most doubling it. */
static int repeat(struct part *own, MPI_Comm taking_part, double budget_s, double *seconds) {
    int count = 0, more = REPETITIONS_MIN;
    double spent_s = 0;
    /* The first exchange creates connections. */
    exchanged_s(own, taking_part);
    while (more > 0) {
        double begin = MPI_Wtime();
        for (int end = count + more; count < end; count++) {
            seconds[count] = exchanged_s(own, taking_part);
        }
        spent_s += slowest(MPI_Wtime() - begin, taking_part);
        int room = count < REPETITIONS_MAX - count ? count : REPETITIONS_MAX - count;
        more = bounded((budget_s - spent_s) * count / spent_s, 0, room);
    }
    return count;
}

/* exchange NUMBER SECONDS: time of the slowest rank for each repetition. */
static int measure_exchange(const char *line) {
    int number;
    double budget_s, seconds[REPETITIONS_MAX], longest[REPETITIONS_MAX];
    if (sscanf(line, "exchange %d %lf", &number, &budget_s) != 2) {
        return 0;
    }
    struct part own = own_part();
    MPI_Comm taking_part = those_taking_part(&own);
    if (taking_part != MPI_COMM_NULL) {
        int count = repeat(&own, taking_part, budget_s, seconds);
        MPI_Reduce(seconds, longest, count, MPI_DOUBLE, MPI_MAX, 0, taking_part);
        if (rank == 0) {
            printf(MARK " exchanged %d", number);
            for (int at = 0; at < count; at++) {
                printf(" %.9e", longest[at]);
            }
            printf("\n");
            fflush(stdout);
        }
        MPI_Comm_free(&taking_part);
    }
    end_part(&own);
    return 1;
}

/* Index of a message among the receives of this rank. */
static int index_of_receive(const struct part *own, const MPI_Status *status) {
    for (int at = 0; at < own->receive_count; at++) {
        if (own->receives[at].other == status->MPI_SOURCE && own->receives[at].tag == status->MPI_TAG) {
            return at;
        }
    }
    refuse("a message came that nobody was to send", "");
    return -1;
}

/* Receives messages in order of arrival and fills `order` with their indices (§5 of the paper). */
static void receive_as_they_come(struct part *own, int *order) {
    begin_sends(own, own->requests);
    for (int at = 0; at < own->receive_count; at++) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        order[at] = index_of_receive(own, &status);
        MPI_Recv(own->received, own->receives[order[at]].bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(own->send_count, own->requests, MPI_STATUSES_IGNORE);
}

static void say_order(int number, int of, const int *order, int count) {
    if (count == 0) {
        return;
    }
    printf(MARK " arrived %d %d", number, of);
    for (int at = 0; at < count; at++) {
        printf(" %d", order[at]);
    }
    printf("\n");
}

/* Collects the orders of all participating ranks at rank 0, which prints them. */
static void tell_orders(int number, const int *order, int count, MPI_Comm taking_part) {
    int taking, own[2] = {rank, count};
    MPI_Comm_size(taking_part, &taking);
    if (rank != 0) {
        MPI_Send(own, 2, MPI_INT, 0, RESULT_TAG, taking_part);
        MPI_Send(order, count, MPI_INT, 0, RESULT_TAG, taking_part);
        return;
    }
    say_order(number, rank, order, count);
    for (int at = 1; at < taking; at++) {
        int of[2];
        MPI_Recv(of, 2, MPI_INT, at, RESULT_TAG, taking_part, MPI_STATUS_IGNORE);
        int *theirs = memory(of[1] * sizeof *theirs);
        MPI_Recv(theirs, of[1], MPI_INT, at, RESULT_TAG, taking_part, MPI_STATUS_IGNORE);
        say_order(number, of[0], theirs, of[1]);
        free(theirs);
    }
    fflush(stdout);
}

/* arrivals NUMBER: order of arrival for each receiving rank. */
static int tell_arrivals(const char *line) {
    int number;
    if (sscanf(line, "arrivals %d", &number) != 1) {
        return 0;
    }
    struct part own = own_part();
    MPI_Comm taking_part = those_taking_part(&own);
    if (taking_part != MPI_COMM_NULL) {
        int *order = memory(own.receive_count * sizeof *order);
        MPI_Barrier(taking_part);
        receive_as_they_come(&own, order);
        tell_orders(number, order, own.receive_count, taking_part);
        free(order);
        MPI_Comm_free(&taking_part);
    }
    end_part(&own);
    return 1;
}
