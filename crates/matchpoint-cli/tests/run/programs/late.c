/* Loads the MPI library after the start of the program, and exchanges messages.
 *
 *     late handle LIBRARY    calls the functions of LIBRARY
 *     late global LIBRARY    loads LIBRARY with RTLD_GLOBAL, and calls the functions that dlsym finds first
 *     late plugin PLUGIN     loads PLUGIN, a library linked with MPI (plugin.c), and calls its `exchange` */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

static void *find(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (found == NULL) {
        fprintf(stderr, "late: no %s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

/* These MPI handles are addresses of objects in the library. */
#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)find(handle, "ompi_mpi_comm_world"))
#define INT ((MPI_Datatype)find(handle, "ompi_mpi_int"))
#else
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#endif

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int is_global = strcmp(argv[1], "global") == 0;
    void *handle = dlopen(argv[2], RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (handle == NULL) {
        fprintf(stderr, "late: %s\n", dlerror());
        return 1;
    }
    if (strcmp(argv[1], "plugin") == 0)
        return ((int (*)(int *, char ***))find(handle, "exchange"))(&argc, &argv);
    if (is_global)
        handle = RTLD_DEFAULT;
#define FOUND(NAME) .NAME = (__typeof__(&MPI_##NAME))find(handle, "MPI_" #NAME)
    struct functions functions = {FOUND(Init), FOUND(Comm_rank), FOUND(Comm_size), FOUND(Irecv),
                                  FOUND(Send), FOUND(Waitall), FOUND(Barrier), FOUND(Finalize)};
    return exchange_by(&functions, WORLD, INT, &argc, &argv);
}
