/* A measurement request: one line of the input. */

enum test { PING_PONG, HIGH_VOLUME, BURST };
enum order { EQUAL, REVERSED, RANDOM };

struct pair {
    int first, second; /* ranks; the first sends first */
};

struct measurement {
    int number;
    enum test test;
    enum order order;
    int messages, bytes;
    double batch_s, budget_s;
    struct pair *pairs;
    int pair_count;
};

/* Index of a word in a list, or -1. */
static int index_of(const char *word, const char *const *words, int count) {
    for (int at = 0; at < count; at++) {
        if (strcmp(word, words[at]) == 0) {
            return at;
        }
    }
    return -1;
}

static int parse_pairs(const char *text, struct measurement *into) {
    into->pair_count = 0;
    for (int used; *text != '\0' && *text != '\n'; text += used + (text[used] == ',')) {
        struct pair pair;
        if (into->pair_count * 2 >= ranks || sscanf(text, "%d-%d%n", &pair.first, &pair.second, &used) != 2) {
            return 0;
        }
        int are_ranks = pair.first >= 0 && pair.first < ranks && pair.second >= 0 && pair.second < ranks;
        if (!are_ranks || pair.first == pair.second) {
            return 0;
        }
        into->pairs[into->pair_count++] = pair;
    }
    return into->pair_count > 0;
}

/* Returns 1 if the line is a valid measurement for these ranks. */
static int parse(const char *line, struct measurement *into) {
    static const char *const tests[] = {"ping_pong", "high_volume", "burst"};
    static const char *const orders[] = {"equal", "reversed", "random"};
    char test[16], order[16];
    int used = 0;
    int read = sscanf(line, "measure %d %15s %15s %d %d %lf %lf %n", &into->number, test, order, &into->messages,
                      &into->bytes, &into->batch_s, &into->budget_s, &used);
    int is_test = read == 7 ? index_of(test, tests, 3) : -1;
    int is_order = read == 7 ? index_of(order, orders, 3) : -1;
    /* MPI guarantees tags up to 32767 (MPI-4.1 §9.1.1). */
    if (is_test < 0 || is_order < 0 || into->messages < 1 || into->messages > 32767 || into->bytes < 0) {
        return 0;
    }
    into->test = (enum test)is_test;
    into->order = (enum order)is_order;
    into->pairs = memory((ranks / 2 + 1) * sizeof *into->pairs);
    return parse_pairs(line + used, into);
}

/* The other rank of this rank's pair, or -1. `is_first`: this rank sends first. */
static int partner(const struct measurement *asked, int *is_first) {
    for (int at = 0; at < asked->pair_count; at++) {
        struct pair pair = asked->pairs[at];
        if (pair.first == rank || pair.second == rank) {
            *is_first = pair.first == rank;
            return *is_first ? pair.second : pair.first;
        }
    }
    return -1;
}
