/* Exchanges between the two ranks of a pair, and their times. */

enum { BATCHES_MIN = 5, BATCHES_MAX = 400, TRIALS = 5, REPEATS_MAX = 100000, RESULT_TAG = 1, READY_TAG = 2 };

struct exchange {
    const struct measurement *asked;
    int other, is_first;
    MPI_Comm side; /* for several pairs: all first ranks, or all second ranks */
    int *send_tags, *receive_tags;
    char *sent, *received; /* space for all messages */
    MPI_Request *requests;
};

static uint64_t random_bits(uint64_t *state) {
    uint64_t bits = *state += 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

/* Messages are sent in the order of their tags. Receives are posted in equal, reverse or random order. */
static void set_tags(struct exchange *with) {
    int count = with->asked->messages;
    uint64_t state = 2018;
    for (int at = 0; at < count; at++) {
        with->send_tags[at] = at;
        with->receive_tags[at] = with->asked->order == REVERSED ? count - 1 - at : at;
    }
    for (int at = count - 1; with->asked->order == RANDOM && at > 0; at--) {
        int other = (int)(random_bits(&state) % (uint64_t)(at + 1)), tag = with->receive_tags[at];
        with->receive_tags[at] = with->receive_tags[other];
        with->receive_tags[other] = tag;
    }
}

static void prepare(struct exchange *with, const struct measurement *asked, MPI_Comm taking_part) {
    with->asked = asked;
    with->other = partner(asked, &with->is_first);
    with->side = MPI_COMM_NULL;
    if (asked->pair_count > 1) {
        MPI_Comm_split(taking_part, with->is_first, rank, &with->side);
    }
    size_t count = asked->messages, all = count * asked->bytes;
    with->send_tags = memory(count * sizeof *with->send_tags);
    with->receive_tags = memory(count * sizeof *with->receive_tags);
    with->requests = memory(count * sizeof *with->requests);
    with->sent = memory(all);
    with->received = memory(all);
    /* Page faults before the measurement. */
    memset(with->sent, 1, all);
    memset(with->received, 2, all);
    set_tags(with);
}

static void end(struct exchange *with) {
    if (with->side != MPI_COMM_NULL) {
        MPI_Comm_free(&with->side);
    }
    free(with->send_tags);
    free(with->receive_tags);
    free(with->requests);
    free(with->sent);
    free(with->received);
}

static void begin_all_sends(struct exchange *with) {
    int count = with->asked->messages, bytes = with->asked->bytes;
    for (int at = 0; at < count; at++) {
        MPI_Isend(with->sent + (size_t)at * bytes, bytes, MPI_BYTE, with->other, with->send_tags[at], MPI_COMM_WORLD,
                  &with->requests[at]);
    }
}

static void begin_all_receives(struct exchange *with) {
    int count = with->asked->messages, bytes = with->asked->bytes;
    for (int at = 0; at < count; at++) {
        MPI_Irecv(with->received + (size_t)at * bytes, bytes, MPI_BYTE, with->other, with->receive_tags[at],
                  MPI_COMM_WORLD, &with->requests[at]);
    }
}

static void wait_for_all(struct exchange *with) {
    MPI_Waitall(with->asked->messages, with->requests, MPI_STATUSES_IGNORE);
}

static void send_all(struct exchange *with) {
    begin_all_sends(with);
    wait_for_all(with);
}

static void receive_all(struct exchange *with) {
    begin_all_receives(with);
    wait_for_all(with);
}

/* Without synchronization, a pair that is ahead or behind has the shared resources to itself. So the pairs
 * start together, in each direction. */
static void together(struct exchange *with) {
    if (with->side != MPI_COMM_NULL) {
        MPI_Barrier(with->side);
    }
}

/* Algorithm 1 of Bienz, Gropp & Olson 2018. */
static void high_volume(struct exchange *with) {
    if (with->is_first) {
        send_all(with);
        receive_all(with);
    } else {
        receive_all(with);
        together(with);
        send_all(with);
    }
}

static void ping_pong(struct exchange *with) {
    int bytes = with->asked->bytes;
    if (with->is_first) {
        MPI_Send(with->sent, bytes, MPI_BYTE, with->other, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(with->received, bytes, MPI_BYTE, with->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!with->is_first) {
        together(with);
        MPI_Send(with->sent, bytes, MPI_BYTE, with->other, 0, MPI_COMM_WORLD);
    }
}

/* The first rank waits until the second is ready. */
static void meet(struct exchange *with) {
    if (with->is_first) {
        MPI_Recv(NULL, 0, MPI_BYTE, with->other, READY_TAG, control, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, with->other, READY_TAG, control);
    }
}

/* Seconds of `repeats` sequences of send calls, with posted receives. 0 for the second rank. */
static double sending_s(struct exchange *with, int repeats) {
    double all = 0;
    for (int at = 0; at < repeats; at++) {
        if (!with->is_first) {
            begin_all_receives(with);
        }
        meet(with);
        if (with->is_first) {
            double begin = MPI_Wtime();
            begin_all_sends(with);
            all += MPI_Wtime() - begin;
        }
        wait_for_all(with);
    }
    return all;
}

/* Seconds of the first rank of a pair for `repeats` exchanges; 0 for the second rank. */
static double timed(struct exchange *with, int repeats, MPI_Comm taking_part) {
    MPI_Barrier(taking_part);
    if (with->asked->test == BURST) {
        return sending_s(with, repeats);
    }
    /* A barrier may release one rank long before the other. */
    meet(with);
    if (with->is_first) {
        together(with);
    }
    double begin = MPI_Wtime();
    for (int at = 0; at < repeats; at++) {
        if (with->asked->test == PING_PONG) {
            ping_pong(with);
        } else {
            high_volume(with);
        }
    }
    return with->is_first ? MPI_Wtime() - begin : 0;
}

static double slowest(double seconds, MPI_Comm taking_part) {
    double most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, taking_part);
    return most;
}

static int bounded(double value, int least, int most) {
    return value < least ? least : value > most ? most : (int)value;
}

/* Duration of one exchange, including untimed parts: the minimum of several, because any may be interrupted.
 */
static double once_s(struct exchange *with, MPI_Comm taking_part) {
    double shortest = 0;
    /* The first exchange creates connections. */
    timed(with, 1, taking_part);
    for (int trial = 0; trial < TRIALS && shortest * TRIALS < with->asked->budget_s; trial++) {
        double begin = MPI_Wtime(), timed_s = timed(with, 1, taking_part);
        double again = slowest(with->asked->test == BURST ? MPI_Wtime() - begin : timed_s, taking_part);
        shortest = trial == 0 || again < shortest ? again : shortest;
    }
    return shortest < 1e-9 ? 1e-9 : shortest;
}

/* Fills `batches` with seconds per direction of the slowest pair. Returns their number. */
static int run_batches(struct exchange *with, MPI_Comm taking_part, double *batches) {
    const struct measurement *asked = with->asked;
    double once = once_s(with, taking_part), directions = asked->test == BURST ? 1 : 2;
    /* Pairs that start together make one exchange per batch. */
    int repeats = asked->pair_count > 1 ? 1 : bounded(asked->batch_s / once, 1, REPEATS_MAX);
    int count = bounded(asked->budget_s / (once * repeats), BATCHES_MIN, BATCHES_MAX);
    for (int at = 0; at < count; at++) {
        batches[at] = slowest(timed(with, repeats, taking_part), taking_part) / (directions * repeats);
    }
    return count;
}

static void say_measured(const struct measurement *asked, const double *batches, int count) {
    printf(MARK " measured %d", asked->number);
    for (int at = 0; at < count; at++) {
        printf(" %.9e", batches[at]);
    }
    printf("\n");
    fflush(stdout);
}

/* The lowest participating rank has the result; rank 0 prints it. */
static void tell(const struct measurement *asked, const double *batches, int count, int teller) {
    if (rank == teller && rank != 0) {
        MPI_Send(batches, count, MPI_DOUBLE, 0, RESULT_TAG, control);
    }
    if (rank != 0) {
        return;
    }
    double told[BATCHES_MAX];
    if (teller != 0) {
        MPI_Status status;
        MPI_Request request;
        MPI_Irecv(told, BATCHES_MAX, MPI_DOUBLE, teller, RESULT_TAG, control, &request);
        wait_asleep(&request, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        batches = told;
    }
    say_measured(asked, batches, count);
}

static int lowest_rank(const struct measurement *asked) {
    int lowest = ranks;
    for (int at = 0; at < asked->pair_count; at++) {
        struct pair pair = asked->pairs[at];
        lowest = pair.first < lowest ? pair.first : lowest;
        lowest = pair.second < lowest ? pair.second : lowest;
    }
    return lowest;
}

static void measure(const struct measurement *asked) {
    double batches[BATCHES_MAX];
    int is_first, count = 0, takes_part = partner(asked, &is_first) >= 0;
    MPI_Comm taking_part;
    MPI_Comm_split(control, takes_part ? 0 : MPI_UNDEFINED, rank, &taking_part);
    if (takes_part) {
        struct exchange with;
        prepare(&with, asked, taking_part);
        count = run_batches(&with, taking_part, batches);
        end(&with);
        MPI_Comm_free(&taking_part);
    }
    tell(asked, batches, count, lowest_rank(asked));
}
