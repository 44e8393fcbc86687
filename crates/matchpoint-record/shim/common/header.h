/* The headers of the MPI library and of the system. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Some headers lack a const of the standard in these functions: their declarations are renamed. */
#define MPI_Pready_list MPI_Pready_list_of_header
#define PMPI_Pready_list PMPI_Pready_list_of_header
#define MPI_Request_get_status_all MPI_Request_get_status_all_of_header
#define PMPI_Request_get_status_all PMPI_Request_get_status_all_of_header
#define MPI_Request_get_status_any MPI_Request_get_status_any_of_header
#define PMPI_Request_get_status_any PMPI_Request_get_status_any_of_header
#define MPI_Request_get_status_some MPI_Request_get_status_some_of_header
#define PMPI_Request_get_status_some PMPI_Request_get_status_some_of_header
#include <mpi.h>
#undef MPI_Pready_list
#undef PMPI_Pready_list
#undef MPI_Request_get_status_all
#undef PMPI_Request_get_status_all
#undef MPI_Request_get_status_any
#undef PMPI_Request_get_status_any
#undef MPI_Request_get_status_some
#undef PMPI_Request_get_status_some

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Open MPI 5 has the functions of MPI-4 except large counts, but reports version 3.1. */
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define MPI_4
#endif
