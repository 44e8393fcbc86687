/* libmatchpoint-mpi.so: overflow matching above an MPI library, through the profiling interface (MPI-4.1 §15.2).
 *
 * The MPI library matches the first receives. Receives beyond a limit are posted to an engine. Their messages stay
 * in the library's unexpected queue until MPI_Improbe takes them from its head.
 *
 *      application ─▶ MPI_Irecv (here) ─┬─ few receives outstanding ─▶ PMPI_Irecv
 *                                       └─ otherwise ─▶ engine ◀─ PMPI_Improbe(any source, any tag) ─▶ PMPI_Imrecv
 *
 * Order: every receive in the library is older than every receive of the same communicator in the engine, and the
 * library matches first. No posted receive accepts a message that the engine holds. Each message in the engine is
 * older than every message of its source and communicator in the library. match.h keeps both rules.
 *
 * One translation unit, not linked with the MPI library: launchers and shells load this library too. */
#include "common/header.h"

#include "core.h"

#include "state.h"
#include "common/ticks.h"
#include "common/library.h"
#include "call.h"
#include "uses.h"
#include "requests.h"
#include "communicators.h"
#include "match.h"
#include "dump.h"
#include "drive.h"
#include "watch.h"

#define COUNT int
#define SIZED(name) name
#include "calls/receive.h"
#include "calls/send.h"
#undef COUNT
#undef SIZED
#if MPI_VERSION >= 4
#define LARGE
#define COUNT MPI_Count
#define SIZED(name) name##_c
#include "calls/receive.h"
#include "calls/send.h"
#undef COUNT
#undef SIZED
#undef LARGE
#endif

#include "calls/probe.h"
#include "calls/complete.h"
#include "calls/blocking.h"
#include "common/transport.h"
#include "eager.h"
#include "common/search.h"
#include "measure.h"
#include "calls/life.h"
