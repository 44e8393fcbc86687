/* Matchpoint's recorder: a library that is loaded before an MPI library and writes down which point-to-point calls the
 * application makes. docs/trace-format.md says what comes out.
 *
 * One translation unit, so that a compiler sees all of a call's way at once. Nothing of the MPI library is linked: its
 * functions are looked up when they are first needed, so that the recorder may be loaded into launchers and shells too.
 *
 *   application ─▶ MPI_Isend (here) ─▶ PMPI_Isend (library)
 *                      │
 *                      ▼
 *                  lane: a ring for each thread ─▶ drain: one thread for the process ─▶ blocks ─▶ rank file
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Some headers lack a const of the standard's here: theirs is put aside. */
#define MPI_Pready_list MPI_Pready_list_of_header
#define PMPI_Pready_list PMPI_Pready_list_of_header
#include <mpi.h>
#undef MPI_Pready_list
#undef PMPI_Pready_list

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
#include <time.h>
#include <unistd.h>

/* Open MPI 5 has what MPI-4 brought, but for large counts, and calls itself 3.1. */
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define MPI_4
#endif

#include "ticks.h"
#include "site.h"
#include "library.h"
#include "lane.h"
#include "file.h"
#include "encode.h"
#include "drain.h"
#include "world.h"
#include "values.h"
#include "queues.h"

/* Each of these for counts of type int, and for MPI_Count (MPI-4.1 §2.5.8: names that end in _c). */
#define COUNT int
#define SIZED(name) name
#include "calls/send.h"
#include "calls/receive.h"
#include "calls/collective.h"
#undef COUNT
#undef SIZED
#if MPI_VERSION >= 4
#define LARGE
#define COUNT MPI_Count
#define SIZED(name) name##_c
#include "calls/send.h"
#include "calls/receive.h"
#include "calls/collective.h"
#undef COUNT
#undef SIZED
#endif

#include "calls/probe.h"
#include "calls/complete.h"
#include "calls/communicator.h"
#include "calls/one_sided.h"

/* What happens at the beginning and the end uses some of the functions above. */
static bool recording_is_due(int result);
static void recording_begin(bool has_world);
static int recorded_beginning(int result, uint64_t code, uint64_t entered);
static bool recording_leaves_in_order; /* all sessions are finalized */
static void recording_pause(void);
static void recording_end(const char *reason);
static void offset_find(bool records);
#include "calls/process.h"
#include "offset.h"
#include "modules.h"
#include "life.h"
