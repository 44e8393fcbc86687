/* Common part of features.c: position on a ring, messages with their sender's data, and errors. */
#ifndef FEATURES_H
#define FEATURES_H

#include "example.h"

/* Open MPI 5 reports MPI 3.1, and has parts of MPI 4. */
#if defined OMPI_MAJOR_VERSION
#define HAS_LARGE_COUNTS (MPI_VERSION >= 4 && OMPI_MAJOR_VERSION > 5)
#define HAS_MPI4 (OMPI_MAJOR_VERSION >= 5)
#else
#define HAS_LARGE_COUNTS (MPI_VERSION >= 4)
#define HAS_MPI4 (MPI_VERSION >= 4)
#endif

enum { LENGTH = 8 };

static int rank, ranks, to, from;
static long wrong;

/* Fills a rank's data for a tag. */
static inline void fill(int *data, int of, int tag) {
    for (int i = 0; i < LENGTH; i++) data[i] = (of * 1000 + tag) * 10 + i;
}

#define EXPECT(condition) ((condition) ? (void)0 : complain(#condition, __func__, __LINE__))

static inline void complain(const char *what, const char *where, int line) {
    fprintf(stderr, "rank %d: %s, line %d: not so: %s\n", rank, where, line, what);
    wrong++;
}

static inline bool is_from(const int *data, int of, int tag) {
    int wanted[LENGTH];
    fill(wanted, of, tag);
    return memcmp(data, wanted, sizeof wanted) == 0;
}

static inline bool says(const MPI_Status *status, int of, int tag) {
    int length;
    MPI_Get_count(status, MPI_INT, &length);
    return status->MPI_SOURCE == of && status->MPI_TAG == tag && length == LENGTH;
}

#endif
