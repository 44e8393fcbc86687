/* Results of the simulated library (library.c), set by the program before each call. */
#ifndef ANSWERS_H
#define ANSWERS_H

#include <mpi.h>

struct answers {
    MPI_Request request;
    MPI_Comm comm;
    MPI_Status status;
    int flag;
    /* The completed ones of several requests. */
    int completed;
    const int *indices;
    const MPI_Status *statuses;
    /* The members of the new communicator, as ranks in MPI_COMM_WORLD. */
    int members;
    const int *ranks;
};

/* The size of MPI_COMM_WORLD, although only the first process runs. */
enum { PROCESSES = 2000 };

extern __thread struct answers answers;

/* Fields of MPI_internal in a status: the length in two halves, and a flag. */
enum { INTERNAL_LOW, INTERNAL_HIGH, INTERNAL_CANCELLED };

/* The size of a datatype is its handle minus this. */
#define TYPE_BASE ((intptr_t)0x10000)

#endif
