/* Matchpoint's recorder: a preloaded library that records the MPI calls of an application.
 * docs/reference/trace-format.md describes its output.
 *
 * All files are one translation unit, so that the compiler optimizes the whole path of a call. The recorder looks up
 * the MPI library's functions at their first use and does not link them, because launchers and shells may also load
 * the recorder.
 *
 *      application ─▶ MPI_Isend (here) ─▶ PMPI_Isend (library)
 *                          │
 *                          ▼
 *                      lane: a ring for each thread ─▶ drain: one thread for the process ─▶ blocks ─▶ rank file */
#include "common/header.h"

#include "hot_state.h"
#include "common/ticks.h"
#include "site.h"
#include "common/library.h"
#include "common/transport.h"
#include "call.h"
#include "lane.h"
#include "file.h"
#include "encode.h"
#include "drain.h"
#include "world.h"
#include "values.h"
#include "queues.h"

#include "calls/one_sided.h"

/* Included for counts of type int and for MPI_Count (MPI-4.1 §2.5.8: names that end in _c). */
#define COUNT int
#define SIZED(name) name
#include "calls/send.h"
#include "calls/receive.h"
#include "calls/collective.h"
#include "common/transfers.h"
#undef COUNT
#undef SIZED
#if MPI_VERSION >= 4
#define LARGE
#define COUNT MPI_Count
#define SIZED(name) name##_c
#include "calls/send.h"
#include "calls/receive.h"
#include "calls/collective.h"
#include "common/transfers.h"
#undef COUNT
#undef SIZED
#endif

#include "calls/probe.h"
#include "calls/complete.h"
#include "calls/communicator.h"
#include "calls/file.h"

/* Defined in life.h, which uses functions of the files above. */
static bool recording_is_due(int result);
static void recording_begin(bool has_world);
static int record_first_call(int result, uint64_t code, uint64_t entered);
static void recording_pause(void);
static void recording_end(const char *reason);
static void offset_end(void);
static void search_end(void);
#include "calls/process.h"
#include "job.h"
#include "offset.h"
#include "matching.h"
#include "common/search.h"
#include "search.h"
#include "modules.h"
#include "life.h"
