/* Common part of all examples: settings from the command line, memory, and the end of a run. Includes MPI,
 * with counts. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "count.h"

#include <stdarg.h>

/* An integer of the command line, or with `is_flag` an option without a value. */
struct setting {
    const char *name;
    long *value;
    const char *meaning;
    bool is_flag;
};

/* Ends all ranks with a reason. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    PMPI_Abort(MPI_COMM_WORLD, 2);
    abort();
}

static inline void show_settings(const char *program, const struct setting *settings, size_t length, FILE *to) {
    fprintf(to, "Usage: %s [OPTION…], with:\n", program);
    for (const struct setting *one = settings; one < settings + length; one++) {
        if (one->is_flag)
            fprintf(to, "  %-18s %s\n", one->name, one->meaning);
        else
            fprintf(to, "  %-12s %-5ld %s\n", one->name, *one->value, one->meaning);
    }
    fprintf(to, "  %-18s %s\n", "--count PREFIX", "write what each rank did to PREFIX.RANK.json");
}

/* The same for an error on all ranks, such as a setting: rank 0 prints the reason. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void refuse(const char *format, ...) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
    }
    PMPI_Finalize();
    exit(2);
}

/* Numbers are at least 1. Every rank reads them; rank 0 reports errors. */
static inline void read_settings(int argc, char **argv, const struct setting *settings, size_t length) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        const struct setting *one = settings;
        while (one < settings + length && strcmp(one->name, argv[i]) != 0) one++;
        char *end = "";
        bool is_known = one < settings + length;
        if (is_known && one->is_flag) {
            *one->value = 1;
            continue;
        }
        if (is_known && i + 1 < argc) *one->value = strtol(argv[++i], &end, 10);
        if (is_known && *end == '\0' && *one->value >= 1) continue;
        bool is_help = strcmp(argv[i], "--help") == 0;
        if (rank == 0 && !is_help) fprintf(stderr, "%s: what is %s?\n", argv[0], argv[i]);
        if (rank == 0) show_settings(argv[0], settings, length, is_help ? stdout : stderr);
        PMPI_Finalize();
        exit(is_help ? 0 : 2);
    }
}

#define READ_SETTINGS(argc, argv, settings) read_settings(argc, argv, settings, sizeof(settings) / sizeof *(settings))

/* Memory of `length` items, zeroed. */
static inline void *allocate(size_t length, size_t size) {
    void *memory = calloc(length ? length : 1, size);
    if (!memory) fail("out of memory: %zu items of %zu bytes", length, size);
    return memory;
}

#define ALLOCATE(type, length) ((type *)allocate((size_t)(length), sizeof(type)))

/* End of a program: rank 0 prints whether the results of all ranks are right. The exit status is the same. */
__attribute__((format(printf, 2, 3))) static inline int finish(bool is_right, const char *format, ...) {
    int rank, mine = is_right, all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!is_right) fprintf(stderr, "rank %d: wrong result\n", rank);
    if (rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf(": %s\n", all ? "right" : "WRONG");
    }
    MPI_Finalize();
    return all ? 0 : 1;
}

#endif
