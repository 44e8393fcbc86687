/* Reads square sparse matrices in Matrix Market's coordinate form: real, integer or pattern; general or symmetric. */
#ifndef MATRIX_MARKET_H
#define MATRIX_MARKET_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    int row, column;
    double value;
};

/* Entries sorted by row, then column, without duplicates. Row r has entries start[r] to start[r + 1] - 1. */
struct matrix {
    int rows, length;
    int *start;
    struct entry *entries;
};

/* A file during reading, and its error. */
struct matrix_file {
    const char *path;
    FILE *file;
    long line;
    char text[1026];
    char problem[400];
    bool is_pattern, is_symmetric;
    int rows;
    long length, room, announced;
    struct entry *entries;
};

__attribute__((format(printf, 2, 3))) static inline bool matrix_problem(struct matrix_file *from, const char *format,
                                                                         ...) {
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (from->line > 0) snprintf(from->problem, sizeof from->problem, "line %ld: %s", from->line, what);
    else snprintf(from->problem, sizeof from->problem, "%s", what);
    return false;
}

/* Reads the next line that is neither empty nor a comment; false at the end, or after an error. */
static inline bool matrix_line(struct matrix_file *from) {
    while (fgets(from->text, sizeof from->text, from->file)) {
        from->line++;
        if (!strchr(from->text, '\n') && !feof(from->file))
            return matrix_problem(from, "longer than the %d characters that the format allows", 1024);
        const char *first = from->text + strspn(from->text, " \t\r\n");
        if (*first != '\0' && (*first != '%' || from->line == 1)) return true;
    }
    return false;
}

static inline bool matrix_header(struct matrix_file *from) {
    char object[64], form[64], field[64], symmetry[64];
    if (!matrix_line(from)) return matrix_problem(from, "the file is empty");
    for (char *letter = from->text; *letter; letter++) *letter = (char)tolower((unsigned char)*letter);
    if (sscanf(from->text, "%%%%matrixmarket %63s %63s %63s %63s", object, form, field, symmetry) != 4)
        return matrix_problem(from, "not a Matrix Market file: it should begin with %%%%MatrixMarket, and four words");
    if (strcmp(object, "matrix") != 0 || strcmp(form, "coordinate") != 0)
        return matrix_problem(from, "%s %s: only matrices in coordinate form are read", object, form);
    from->is_pattern = strcmp(field, "pattern") == 0;
    if (!from->is_pattern && strcmp(field, "real") != 0 && strcmp(field, "integer") != 0)
        return matrix_problem(from, "%s values: only real, integer and pattern are read", field);
    from->is_symmetric = strcmp(symmetry, "symmetric") == 0;
    if (!from->is_symmetric && strcmp(symmetry, "general") != 0)
        return matrix_problem(from, "%s matrices: only general and symmetric ones are read", symmetry);
    return true;
}

/* Reads an integer from low to high at *text, and advances *text. */
static inline bool matrix_number(char **text, long low, long high, long *number) {
    char *end;
    errno = 0;
    *number = strtol(*text, &end, 10);
    if (end == *text || errno || (*end && !isspace((unsigned char)*end)) || *number < low || *number > high)
        return false;
    *text = end;
    return true;
}

static inline bool matrix_line_ends(const char *text) { return text[strspn(text, " \t\r\n")] == '\0'; }

static inline bool matrix_sizes(struct matrix_file *from) {
    long rows, columns;
    char *text = from->text;
    if (!matrix_line(from))
        return *from->problem ? false : matrix_problem(from, "the file ends before the line of sizes");
    if (!matrix_number(&text, 1, INT_MAX / 4, &rows) || !matrix_number(&text, 1, INT_MAX / 4, &columns)
        || !matrix_number(&text, 0, INT_MAX / 4, &from->announced) || !matrix_line_ends(text))
        return matrix_problem(from, "expected rows, columns and entries, each below %d", INT_MAX / 4);
    if (rows != columns) return matrix_problem(from, "%ld rows and %ld columns: not square", rows, columns);
    from->rows = (int)rows;
    return true;
}

/* Memory grows with the entries read, not with the announced number. */
static inline bool matrix_keep(struct matrix_file *from, long row, long column, double value) {
    if (from->length == from->room) {
        from->room = from->room * 2 + 1024;
        struct entry *more = realloc(from->entries, (size_t)from->room * sizeof *more);
        if (!more) return matrix_problem(from, "out of memory");
        from->entries = more;
    }
    from->entries[from->length++] = (struct entry){(int)row - 1, (int)column - 1, value};
    return true;
}

static inline bool matrix_entry(struct matrix_file *from) {
    long row, column;
    double value = 1;
    char *text = from->text;
    if (!matrix_number(&text, 1, from->rows, &row) || !matrix_number(&text, 1, from->rows, &column))
        return matrix_problem(from, "expected a row and a column from 1 to %d", from->rows);
    if (!from->is_pattern) {
        char *end;
        value = strtod(text, &end);
        if (end == text || value - value != 0) return matrix_problem(from, "expected a finite value");
        text = end;
    }
    if (!matrix_line_ends(text)) return matrix_problem(from, "something follows the entry: %.40s", text);
    if (from->is_symmetric && column > row)
        return matrix_problem(from, "(%ld, %ld) is above the diagonal of a symmetric matrix", row, column);
    if (!matrix_keep(from, row, column, value)) return false;
    return !from->is_symmetric || row == column || matrix_keep(from, column, row, value);
}

static inline int matrix_order(const void *one, const void *other) {
    const struct entry *a = one, *b = other;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* Sorts, adds duplicates, and finds the starts of rows. */
static inline bool matrix_finish(struct matrix_file *from, struct matrix *to) {
    to->rows = from->rows;
    to->length = 0;
    to->start = calloc((size_t)from->rows + 1, sizeof *to->start);
    to->entries = from->entries;
    if (!to->start) return matrix_problem(from, "out of memory");
    if (from->length) qsort(from->entries, (size_t)from->length, sizeof *from->entries, matrix_order);
    for (long i = 0; i < from->length; i++) {
        if (to->length && matrix_order(&to->entries[to->length - 1], &from->entries[i]) == 0) {
            to->entries[to->length - 1].value += from->entries[i].value;
            continue;
        }
        to->entries[to->length++] = from->entries[i];
        to->start[from->entries[i].row + 1]++;
    }
    for (int row = 0; row < to->rows; row++) to->start[row + 1] += to->start[row];
    return true;
}

/* A pattern has connections only; the values are those of the graph's Laplacian plus the identity. */
static inline bool matrix_laplacian(struct matrix_file *from) {
    long length = from->length;
    for (long i = 0; i < length; i++) {
        bool is_diagonal = from->entries[i].row == from->entries[i].column;
        from->entries[i].value = is_diagonal ? 0 : -1;
        int row = from->entries[i].row + 1;
        if (!is_diagonal && !matrix_keep(from, row, row, 1)) return false;
    }
    for (int row = 1; row <= from->rows; row++)
        if (!matrix_keep(from, row, row, 1)) return false;
    return true;
}

static inline bool matrix_parse(struct matrix_file *from, struct matrix *to) {
    if (!matrix_header(from) || !matrix_sizes(from)) return false;
    for (long i = 0; i < from->announced; i++) {
        if (!matrix_line(from))
            return *from->problem ? false
                                  : matrix_problem(from, "the file ends after %ld of %ld entries", i, from->announced);
        if (!matrix_entry(from)) return false;
    }
    if (matrix_line(from)) return matrix_problem(from, "more than the %ld entries announced", from->announced);
    if (*from->problem) return false;
    return (!from->is_pattern || matrix_laplacian(from)) && matrix_finish(from, to);
}

/* Reads the file into *to, or writes an error to `problem`, starting with the path. */
static inline bool read_matrix(const char *path, struct matrix *to, char *problem, size_t length) {
    struct matrix_file from = {.path = path, .file = fopen(path, "r")};
    if (!from.file) {
        snprintf(problem, length, "%s: %s", path, strerror(errno));
        return false;
    }
    bool is_good = matrix_parse(&from, to);
    if (!is_good) snprintf(problem, length, "%s: %s", path, from.problem);
    if (!is_good) free(from.entries);
    fclose(from.file);
    return is_good;
}

#endif
