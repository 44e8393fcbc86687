/* Products of a sparse matrix and a vector, as in HPCG and every Krylov solver: conjugate gradients for a
 * matrix from a Matrix Market file, with rows distributed in blocks. Before each product every rank receives
 * the values for its columns from their owners.
 *
 * Matching: the matrix determines senders and receivers. Each product posts a receive for every owner of
 * needed columns, sends to every rank that needs values, and waits; sources and tags are exact. In between
 * are dot products.
 *
 * spmv FILE [OPTION…]. A matrix that is not symmetric, or --power, is multiplied repeatedly with a vector of
 * length 1 instead. Rank 0 checks the solution, or repeats the computation alone. */
#include "example.h"
#include "matrix_market.h"

#include <math.h>

enum { WANTED = 1, VALUES = 2 };

static long most = 200, power = 0;
static int ranks, rank;

/* Columns that another rank owns and this rank needs, or the reverse. */
struct partner {
    int rank, length, *columns;
    double *values;
};

/* This rank's rows of the matrix, and the exchange before a product. */
struct part {
    struct matrix whole;
    int first, rows;
    int sources, targets;
    struct partner *from, *to;
    double *x;
};

static int first_row(int rows, int of) { return (int)((long)rows * of / ranks); }

static int owner(int rows, int row) {
    int of = (int)((long)row * ranks / rows);
    while (first_row(rows, of) > row) of--;
    while (first_row(rows, of + 1) <= row) of++;
    return of;
}

/* Rank 0 reads and broadcasts the whole matrix. Matrices larger than a rank's memory are not supported. */
static struct matrix read_together(const char *path) {
    struct matrix matrix = {0};
    char problem[1000] = "";
    int is_good = 1;
    if (rank == 0) is_good = read_matrix(path, &matrix, problem, sizeof problem);
    MPI_Bcast(&is_good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!is_good) {
        if (rank == 0) fprintf(stderr, "spmv: %s\n", problem);
        MPI_Finalize();
        exit(2);
    }
    MPI_Bcast(&matrix.rows, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&matrix.length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) {
        matrix.start = ALLOCATE(int, matrix.rows + 1);
        matrix.entries = ALLOCATE(struct entry, matrix.length);
    }
    MPI_Bcast(matrix.start, matrix.rows + 1, MPI_INT, 0, MPI_COMM_WORLD);
    /* Bytes, because all ranks have the same architecture. The number of bytes may exceed an int, the number
     * of entries does not. */
    MPI_Datatype type;
    MPI_Type_contiguous((int)sizeof(struct entry), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(matrix.entries, matrix.length, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    return matrix;
}

static bool is_symmetric(const struct matrix *matrix) {
    for (int i = 0; i < matrix->length; i++) {
        const struct entry *entry = &matrix->entries[i];
        struct entry mirrored = {entry->column, entry->row, 0};
        const struct entry *other =
            bsearch(&mirrored, matrix->entries, (size_t)matrix->length, sizeof mirrored, matrix_order);
        if (!other || other->value != entry->value) return false;
    }
    return true;
}

static struct partner make_partner(int of, int length) {
    return (struct partner){of, length, ALLOCATE(int, length), ALLOCATE(double, length)};
}

/* Needed columns in lists by owner; their numbers go to *counts. */
static void find_sources(struct part *part, int *counts) {
    const struct matrix *matrix = &part->whole;
    bool *needed = ALLOCATE(bool, matrix->rows);
    for (int i = matrix->start[part->first]; i < matrix->start[part->first + part->rows]; i++)
        needed[matrix->entries[i].column] = true;
    for (int column = 0; column < matrix->rows; column++)
        if (needed[column] && owner(matrix->rows, column) != rank) counts[owner(matrix->rows, column)]++;
    part->from = ALLOCATE(struct partner, ranks);
    for (int of = 0; of < ranks; of++) {
        if (counts[of] == 0) continue;
        struct partner *one = &part->from[part->sources++];
        *one = make_partner(of, counts[of]);
        int length = 0, end = first_row(matrix->rows, of + 1);
        for (int column = first_row(matrix->rows, of); column < end; column++)
            if (needed[column]) one->columns[length++] = column;
    }
    free(needed);
}

/* Sends the list of needed columns to each owner, and receives the lists of other ranks. */
static struct part set_up(struct matrix matrix) {
    struct part part = {.whole = matrix, .first = first_row(matrix.rows, rank)};
    part.rows = first_row(matrix.rows, rank + 1) - part.first;
    part.x = ALLOCATE(double, matrix.rows);
    int *needed = ALLOCATE(int, ranks), *asked = ALLOCATE(int, ranks);
    find_sources(&part, needed);
    MPI_Alltoall(needed, 1, MPI_INT, asked, 1, MPI_INT, MPI_COMM_WORLD);
    part.to = ALLOCATE(struct partner, ranks);
    MPI_Request *requests = ALLOCATE(MPI_Request, 2 * ranks), *request = requests;
    for (int of = 0; of < ranks; of++) {
        if (asked[of] == 0) continue;
        struct partner *one = &part.to[part.targets++];
        *one = make_partner(of, asked[of]);
        MPI_Irecv(one->columns, one->length, MPI_INT, of, WANTED, MPI_COMM_WORLD, request++);
    }
    for (struct partner *one = part.from; one < part.from + part.sources; one++)
        MPI_Isend(one->columns, one->length, MPI_INT, one->rank, WANTED, MPI_COMM_WORLD, request++);
    MPI_Waitall((int)(request - requests), requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(needed);
    free(asked);
    return part;
}

static void product(const struct matrix *matrix, int first, int rows, const double *x, double *y) {
    for (int row = first; row < first + rows; row++) {
        double sum = 0;
        for (int i = matrix->start[row]; i < matrix->start[row + 1]; i++)
            sum += matrix->entries[i].value * x[matrix->entries[i].column];
        y[row - first] = sum;
    }
}

/* y = A x; every rank has its rows of y. */
static void multiply(struct part *part, const double *x, double *y) {
    MPI_Request *requests = ALLOCATE(MPI_Request, 2 * ranks), *request = requests;
    for (struct partner *one = part->from; one < part->from + part->sources; one++)
        MPI_Irecv(one->values, one->length, MPI_DOUBLE, one->rank, VALUES, MPI_COMM_WORLD, request++);
    for (struct partner *one = part->to; one < part->to + part->targets; one++) {
        for (int i = 0; i < one->length; i++) one->values[i] = x[one->columns[i] - part->first];
        MPI_Isend(one->values, one->length, MPI_DOUBLE, one->rank, VALUES, MPI_COMM_WORLD, request++);
    }
    memcpy(part->x + part->first, x, (size_t)part->rows * sizeof *x);
    MPI_Waitall((int)(request - requests), requests, MPI_STATUSES_IGNORE);
    for (struct partner *one = part->from; one < part->from + part->sources; one++)
        for (int i = 0; i < one->length; i++) part->x[one->columns[i]] = one->values[i];
    product(&part->whole, part->first, part->rows, part->x, y);
    free(requests);
}

static double dot(const double *a, const double *b, int length) {
    double mine = 0, sum;
    for (int i = 0; i < length; i++) mine += a[i] * b[i];
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static double right_side(int row) { return 1 + row % 7; }

/* Conjugate gradients from x = 0; returns the number of steps. */
static long solve(struct part *part, double *x) {
    int rows = part->rows;
    double *residual = ALLOCATE(double, rows), *way = ALLOCATE(double, rows), *image = ALLOCATE(double, rows);
    for (int i = 0; i < rows; i++) way[i] = residual[i] = right_side(part->first + i);
    double size = dot(residual, residual, rows), enough = 1e-20 * size;
    long step = 0;
    for (; step < most && size > enough; step++) {
        multiply(part, way, image);
        double curvature = dot(way, image, rows);
        if (curvature <= 0) refuse("spmv: the matrix is not positive definite; try --power");
        double length = size / curvature, before = size;
        for (int i = 0; i < rows; i++) {
            x[i] += length * way[i];
            residual[i] -= length * image[i];
        }
        size = dot(residual, residual, rows);
        for (int i = 0; i < rows; i++) way[i] = residual[i] + size / before * way[i];
    }
    free(residual);
    free(way);
    free(image);
    return step;
}

static void iterate(struct part *part, double *x) {
    double *image = ALLOCATE(double, part->rows);
    for (int i = 0; i < part->rows; i++) x[i] = right_side(part->first + i);
    for (long step = 0; step < most; step++) {
        multiply(part, x, image);
        double size = sqrt(dot(image, image, part->rows));
        for (int i = 0; i < part->rows; i++) x[i] = size > 0 ? image[i] / size : 0;
    }
    free(image);
}

/* Residual of the whole x, relative to the right side. */
static double residual_of(const struct matrix *matrix, const double *x) {
    double *image = ALLOCATE(double, matrix->rows), off = 0, size = 0;
    product(matrix, 0, matrix->rows, x, image);
    for (int row = 0; row < matrix->rows; row++) {
        off += pow(right_side(row) - image[row], 2);
        size += pow(right_side(row), 2);
    }
    free(image);
    return sqrt(off / size);
}

/* Difference of the whole x from the result of one rank alone. */
static double difference_from_alone(const struct matrix *matrix, const double *x) {
    double *alone = ALLOCATE(double, matrix->rows), *image = ALLOCATE(double, matrix->rows), worst = 0;
    for (int row = 0; row < matrix->rows; row++) alone[row] = right_side(row);
    for (long step = 0; step < most; step++) {
        double size = 0;
        product(matrix, 0, matrix->rows, alone, image);
        for (int row = 0; row < matrix->rows; row++) size += image[row] * image[row];
        for (int row = 0; row < matrix->rows; row++) alone[row] = size > 0 ? image[row] / sqrt(size) : 0;
    }
    for (int row = 0; row < matrix->rows; row++) worst = fmax(worst, fabs(alone[row] - x[row]));
    free(alone);
    free(image);
    return worst;
}

/* Collects the parts of all ranks on rank 0. */
static double *collect(const struct part *part, const double *x) {
    double *whole = ALLOCATE(double, part->whole.rows);
    int *counts = ALLOCATE(int, ranks), *begins = ALLOCATE(int, ranks);
    for (int of = 0; of < ranks; of++) {
        begins[of] = first_row(part->whole.rows, of);
        counts[of] = first_row(part->whole.rows, of + 1) - begins[of];
    }
    MPI_Gatherv(x, part->rows, MPI_DOUBLE, whole, counts, begins, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(counts);
    free(begins);
    return whole;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--steps", &most, "steps of the method, at most", false},
        {"--power", &power, "multiply again and again, even if the matrix is symmetric", true},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *path = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    if (path) argv[1] = argv[0];
    READ_SETTINGS(argc - !!path, argv + !!path, settings);
    if (!path) refuse("spmv: which matrix? The first argument is a file in Matrix Market form");

    struct part part = set_up(read_together(path));
    double *x = ALLOCATE(double, part.rows), off = 0;
    bool solves = !power && is_symmetric(&part.whole);
    long step = most;
    if (solves) step = solve(&part, x);
    else iterate(&part, x);
    double *whole = collect(&part, x);
    if (rank == 0) off = solves ? residual_of(&part.whole, whole) : difference_from_alone(&part.whole, whole);
    return finish(off < 1e-8, "spmv: %d ranks, %d rows, %d entries, %ld steps of %s, off by %.1e", ranks,
                  part.whole.rows, part.whole.length, step, solves ? "conjugate gradients" : "the power method", off);
}
