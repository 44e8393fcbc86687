/* Adaptive refinement, as in p4est: the leaves of a quadtree, in Morton order and distributed evenly. A
 * moving circle determines the refinement. In every step each rank
 *
 *   1. refines and coarsens its leaves,
 *   2. sends leaves to their new owners,
 *   3. sends leaves at a neighbour's border to this neighbour, and
 *   4. lets heat flow between neighbouring leaves.
 *
 * Matching: a rank knows its receivers, but not its senders or the lengths of messages. In 2 it knows their
 * number: MPI_Mprobe of any source, and MPI_Mrecv, once per message. In 3 the number is unknown: synchronous
 * sends, MPI_Improbe and MPI_Imrecv until a nonblocking barrier completes (the NBX of Hoefler, Siebert and
 * Lumsdaine).
 *
 * Leaves must tile the domain, each side of each leaf must have neighbours, no heat may be lost, and no leaf
 * may be hotter than the initial maximum. */
#include "example.h"

#include <math.h>

enum { COARSEST = 2, LEAVES = 1, BORDER = 2 };

static long levels = 6, steps = 10;
static int ranks, rank;

/* A square. Its key is the Morton order of its first cell. Cells are the squares of the finest level. */
struct leaf {
    long key, level;
    double heat;
};

struct leaves {
    struct leaf *at;
    long length, room;
};

static void push(struct leaves *leaves, struct leaf leaf) {
    if (leaves->length == leaves->room) {
        leaves->room = 2 * leaves->room + 16;
        leaves->at = realloc(leaves->at, (size_t)leaves->room * sizeof *leaves->at);
        if (!leaves->at) fail("amr: out of memory");
    }
    leaves->at[leaves->length++] = leaf;
}

/* Extends by `length` leaves and returns the first. */
static struct leaf *extend(struct leaves *leaves, long length) {
    for (long i = 0; i < length; i++) push(leaves, (struct leaf){0, 0, 0});
    return leaves->at + leaves->length - length;
}

static long cells_of(long level) { return 1L << 2 * (levels - level); }
static long edge_of(long level) { return 1L << (levels - level); }

static long x_of(long key) {
    long x = 0;
    for (long bit = 0; bit < levels; bit++) x |= (key >> 2 * bit & 1) << bit;
    return x;
}

static long y_of(long key) { return x_of(key >> 1); }

static long key_of(long x, long y) {
    long key = 0;
    for (long bit = 0; bit < levels; bit++) key |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << (2 * bit + 1);
    return key;
}

/* Returns true if the circle of the step passes through the square. */
static bool is_of_interest(long key, long level, long step) {
    double edge = (double)edge_of(level), whole = (double)edge_of(0), angle = 0.3 * (double)step;
    double x = whole * (0.5 + 0.2 * cos(angle)) - (double)x_of(key);
    double y = whole * (0.5 + 0.2 * sin(angle)) - (double)y_of(key);
    double near = hypot(fmax(0, fmax(-x, x - edge)), fmax(0, fmax(-y, y - edge)));
    double far = hypot(fmax(fabs(x), fabs(x - edge)), fmax(fabs(y), fabs(y - edge)));
    return near <= 0.22 * whole && 0.22 * whole <= far;
}

static void refine(struct leaves *to, struct leaf leaf, long step) {
    if (leaf.level == levels || (leaf.level >= COARSEST && !is_of_interest(leaf.key, leaf.level, step))) {
        push(to, leaf);
        return;
    }
    for (long child = 0; child < 4; child++)
        refine(to, (struct leaf){leaf.key + child * cells_of(leaf.level + 1), leaf.level + 1, leaf.heat / 4}, step);
}

/* Returns true if the four leaves are the children of one leaf and no longer needed. */
static bool can_merge(const struct leaf *four, long step) {
    long level = four->level;
    if (level <= COARSEST || four->key % cells_of(level - 1) != 0) return false;
    for (long child = 0; child < 4; child++)
        if (four[child].level != level || four[child].key != four->key + child * cells_of(level)) return false;
    return !is_of_interest(four->key, level - 1, step);
}

static void adapt(struct leaves *leaves, long step) {
    struct leaves adapted = {0};
    for (long i = 0; i < leaves->length; i++) {
        push(&adapted, leaves->at[i]);
        /* Merged leaves may merge again. */
        while (adapted.length >= 4 && can_merge(adapted.at + adapted.length - 4, step)) {
            struct leaf *four = adapted.at + adapted.length - 4;
            four->heat += four[1].heat + four[2].heat + four[3].heat;
            four->level--;
            adapted.length -= 3;
        }
    }
    leaves->length = 0;
    for (long i = 0; i < adapted.length; i++) refine(leaves, adapted.at[i], step);
    free(adapted.at);
}

static int by_key(const void *one, const void *other) {
    long a = ((const struct leaf *)one)->key, b = ((const struct leaf *)other)->key;
    return (a > b) - (a < b);
}

static int bytes_of(const struct leaves *leaves) { return (int)((size_t)leaves->length * sizeof *leaves->at); }

/* The same number of leaves on every rank. */
static void share_out(struct leaves *leaves) {
    long before = 0, total, mine = leaves->length;
    MPI_Exscan(&mine, &before, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    struct leaves *bundles = ALLOCATE(struct leaves, ranks), kept = {0};
    MPI_Request *requests = ALLOCATE(MPI_Request, ranks);
    int *sends_to = ALLOCATE(int, ranks), expected, sent = 0;
    for (long i = 0; i < mine; i++) push(&bundles[(before + i) * ranks / total], leaves->at[i]);
    for (int to = 0; to < ranks; to++) {
        if (to == rank || bundles[to].length == 0) continue;
        sends_to[to] = 1;
        MPI_Isend(bundles[to].at, bytes_of(&bundles[to]), MPI_BYTE, to, LEAVES, MPI_COMM_WORLD, &requests[sent]);
        sent++;
    }
    MPI_Reduce_scatter_block(sends_to, &expected, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < bundles[rank].length; i++) push(&kept, bundles[rank].at[i]);
    for (int i = 0; i < expected; i++) {
        MPI_Message message;
        MPI_Status status;
        int bytes;
        MPI_Mprobe(MPI_ANY_SOURCE, LEAVES, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        struct leaf *end = extend(&kept, bytes / (long)sizeof *end);
        MPI_Mrecv(end, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(sent, requests, MPI_STATUSES_IGNORE);
    qsort(kept.at, (size_t)kept.length, sizeof *kept.at, by_key);
    for (int to = 0; to < ranks; to++) free(bundles[to].at);
    free(leaves->at);
    *leaves = kept;
    free(bundles);
    free(requests);
    free(sends_to);
}

/* First key of each rank, and at the end the last rank's end. */
static long *find_borders(const struct leaves *leaves) {
    long *first = ALLOCATE(long, ranks + 1), mine = leaves->length ? leaves->at->key : -1;
    MPI_Allgather(&mine, 1, MPI_LONG, first, 1, MPI_LONG, MPI_COMM_WORLD);
    first[ranks] = cells_of(0);
    for (int r = ranks - 1; r >= 0; r--)
        if (first[r] < 0) first[r] = first[r + 1];
    return first;
}

/* The square next to a leaf's side; false at the end of the domain. */
static bool beside(const struct leaf *leaf, int side, long *x, long *y) {
    static const int step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    *x = x_of(leaf->key) + step[side][0] * edge_of(leaf->level);
    *y = y_of(leaf->key) + step[side][1] * edge_of(leaf->level);
    return *x >= 0 && *y >= 0 && *x < edge_of(0) && *y < edge_of(0);
}

/* Adds each leaf to the bundles of ranks with neighbouring leaves. */
static struct leaves *bundle_borders(const struct leaves *leaves) {
    struct leaves *bundles = ALLOCATE(struct leaves, ranks);
    long *first = find_borders(leaves), x, y;
    for (const struct leaf *leaf = leaves->at; leaf < leaves->at + leaves->length; leaf++)
        for (int side = 0; side < 4; side++) {
            if (!beside(leaf, side, &x, &y)) continue;
            long begin = key_of(x, y), end = begin + cells_of(leaf->level);
            for (int to = 0; to < ranks; to++) {
                bool is_there = first[to] < end && begin < first[to + 1] && first[to] < first[to + 1];
                struct leaves *bundle = &bundles[to];
                bool is_in = bundle->length && bundle->at[bundle->length - 1].key == leaf->key;
                if (to != rank && is_there && !is_in) push(bundle, *leaf);
            }
        }
    free(first);
    return bundles;
}

static void take_arrived(struct leaves *borders) {
    int found, bytes;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    MPI_Improbe(MPI_ANY_SOURCE, BORDER, MPI_COMM_WORLD, &found, &message, &status);
    if (!found) return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    struct leaf *end = extend(borders, bytes / (long)sizeof *end);
    MPI_Imrecv(end, bytes, MPI_BYTE, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Neighbouring leaves of other ranks. Collective calls separate two exchanges, so no message belongs to the
 * wrong exchange. */
static struct leaves exchange_borders(const struct leaves *leaves) {
    struct leaves *bundles = bundle_borders(leaves), borders = {0};
    MPI_Request *requests = ALLOCATE(MPI_Request, ranks), barrier = MPI_REQUEST_NULL;
    int sent = 0, all_received = 0, is_done = 0;
    for (int to = 0; to < ranks; to++)
        if (bundles[to].length)
            MPI_Issend(bundles[to].at, bytes_of(&bundles[to]), MPI_BYTE, to, BORDER, MPI_COMM_WORLD, &requests[sent++]);
    while (!is_done) {
        take_arrived(&borders);
        if (all_received) {
            MPI_Test(&barrier, &is_done, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(sent, requests, &all_received, MPI_STATUSES_IGNORE);
            if (all_received) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        }
    }
    for (int to = 0; to < ranks; to++) free(bundles[to].at);
    free(bundles);
    free(requests);
    return borders;
}

static void paint(double *picture, const struct leaves *leaves) {
    for (const struct leaf *leaf = leaves->at; leaf < leaves->at + leaves->length; leaf++)
        for (long i = 0; i < cells_of(leaf->level); i++)
            picture[leaf->key + i] = leaf->heat / (double)cells_of(leaf->level);
}

/* Heat flows through the sides, compared cell by cell. Returns the number of sides without a neighbour. */
static long flow(struct leaves *leaves, const struct leaves *borders) {
    double *picture = ALLOCATE(double, cells_of(0));
    long missing = 0, x, y;
    for (long i = 0; i < cells_of(0); i++) picture[i] = -1;
    paint(picture, borders);
    paint(picture, leaves);
    for (struct leaf *leaf = leaves->at; leaf < leaves->at + leaves->length; leaf++) {
        double here = picture[leaf->key];
        long edge = edge_of(leaf->level);
        for (int side = 0; side < 4; side++) {
            if (!beside(leaf, side, &x, &y)) continue;
            for (long i = 0; i < edge; i++) {
                long row = side == 2 ? y + edge - 1 : side == 3 ? y : y + i;
                long column = side == 0 ? x + edge - 1 : side == 1 ? x : x + i;
                double there = picture[key_of(column, row)];
                missing += there < 0;
                leaf->heat += 0.1 * (there - here);
            }
        }
    }
    free(picture);
    return missing;
}

/* Cells, heat, and maximum, over all ranks. */
struct sums {
    double cells, heat, hottest;
};

static struct sums add_up(const struct leaves *leaves) {
    struct sums mine = {0, 0, 0}, all;
    for (const struct leaf *leaf = leaves->at; leaf < leaves->at + leaves->length; leaf++) {
        mine.cells += (double)cells_of(leaf->level);
        mine.heat += leaf->heat;
        mine.hottest = fmax(mine.hottest, leaf->heat / (double)cells_of(leaf->level));
    }
    MPI_Allreduce(&mine, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine.hottest, &all.hottest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--levels", &levels, "levels of the tree, 3 to 10", false},
        {"--steps", &steps, "steps", false},
    };
    struct leaves leaves = {0};
    long missing = 0, received = 0;
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (levels <= COARSEST || levels > 10) refuse("amr: --levels %ld is not between 3 and 10", levels);
    /* Rank 0 starts with all leaves, twice as hot in the middle. */
    if (rank == 0) refine(&leaves, (struct leaf){0, 0, (double)cells_of(0)}, 0);
    for (long i = 0; i < leaves.length; i++) leaves.at[i].heat *= i / (leaves.length / 4 + 1) == 1 ? 2 : 1;
    struct sums before = add_up(&leaves), now = before;
    bool is_right = true;
    for (long step = 0; step < steps; step++) {
        adapt(&leaves, step);
        share_out(&leaves);
        struct leaves borders = exchange_borders(&leaves);
        missing += flow(&leaves, &borders);
        received += borders.length;
        free(borders.at);
        now = add_up(&leaves);
        is_right = is_right && now.cells == (double)cells_of(0) && fabs(now.heat / before.heat - 1) < 1e-12
                   && now.hottest <= before.hottest + 1e-12;
    }
    is_right = is_right && missing == 0 && (ranks == 1 || received > 0);
    free(leaves.at);
    return finish(is_right, "amr: %d ranks, %ld levels, %ld steps, heat off by %.1e", ranks, levels, steps,
                  fabs(now.heat / before.heat - 1));
}
