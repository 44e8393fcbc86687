/* Writes a sparse matrix in Matrix Market form: make_matrix ROWS > FILE.
 *
 * The matrix connects points of the unit square, numbered row of boxes by row of boxes. Points within a
 * distance that gives eight neighbours have the entry -1 / (distance in units of that distance + 0.1). Every
 * fiftieth point has an entry -1 with a random point. A diagonal entry is the sum of the others' absolute
 * values plus one. The matrix is symmetric and positive definite, as in finite elements, and rows have
 * different lengths. The same ROWS always give the same matrix. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
    double x, y;
    int box;
};

/* Between 0 and 1: the generator of POSIX's drand48, implemented here to be the same everywhere. */
static double chance(void) {
    static unsigned long long state = 20180614;
    state = (state * 0x5DEECE66DULL + 0xB) & ((1ULL << 48) - 1);
    return (double)state / (double)(1ULL << 48);
}

static int by_box(const void *one, const void *other) {
    const struct point *a = one, *b = other;
    if (a->box != b->box) return a->box < b->box ? -1 : 1;
    return (a->x > b->x) - (a->x < b->x);
}

int main(int argc, char **argv) {
    char *end = "";
    long rows = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (rows < 2 || rows > 100000 || *end) {
        fprintf(stderr, "Usage: make_matrix ROWS > FILE, with 2 to 100000 rows\n");
        return 2;
    }
    struct point *points = calloc((size_t)rows, sizeof *points);
    double *diagonal = calloc((size_t)rows, sizeof *diagonal), distance = sqrt(8 / (3.141592653589793 * (double)rows));
    FILE *entries = tmpfile();
    if (!points || !diagonal || !entries) {
        perror("make_matrix");
        return 2;
    }
    for (long i = 0; i < rows; i++) {
        points[i].x = chance();
        points[i].y = chance();
        points[i].box = (int)(points[i].y / distance);
    }
    qsort(points, (size_t)rows, sizeof *points, by_box);
    long length = rows;
    for (long i = 1; i < rows; i++) {
        long far = i % 50 == 0 ? (long)(chance() * (double)i) : -1;
        for (long j = 0; j < i; j++) {
            double apart = hypot(points[i].x - points[j].x, points[i].y - points[j].y) / distance;
            if (apart > 1 && j != far) continue;
            double value = apart > 1 ? 1 : 1 / (apart + 0.1);
            fprintf(entries, "%ld %ld %.17g\n", i + 1, j + 1, -value);
            diagonal[i] += value;
            diagonal[j] += value;
            length++;
        }
    }
    printf("%%%%MatrixMarket matrix coordinate real symmetric\n%% made by make_matrix %ld\n", rows);
    printf("%ld %ld %ld\n", rows, rows, length);
    for (long i = 0; i < rows; i++) printf("%ld %ld %.17g\n", i + 1, i + 1, diagonal[i] + 1);
    rewind(entries);
    for (int letter; (letter = getc(entries)) != EOF;) putchar(letter);
    free(points);
    free(diagonal);
    fclose(entries);
    return fflush(stdout) || ferror(stdout) ? 2 : 0;
}
