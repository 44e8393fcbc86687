/* What the library that is none (library.c) shall answer: the program that calls it sets this before each call. */
#ifndef ANSWERS_H
#define ANSWERS_H

#include <mpi.h>

struct answers {
    MPI_Request request;
    MPI_Comm comm;
    MPI_Status status;
    int flag;
    /* Of several requests, those that are complete. */
    int completed;
    const int *indices;
    const MPI_Status *statuses;
    /* Of the new communicator, by rank in MPI_COMM_WORLD. */
    int members;
    const int *ranks;
};

/* In MPI_COMM_WORLD, though only the first runs. */
enum { PROCESSES = 2000 };

extern __thread struct answers answers;

/* What MPI_internal of a status holds here: the length, its halves if it is more than an int, and a flag. */
enum { INTERNAL_LOW, INTERNAL_HIGH, INTERNAL_CANCELLED };

/* The size of a datatype is its handle, less this. */
#define TYPE_BASE ((intptr_t)0x10000)

#endif
