/* The matching core: what the shim calls in libmatchpoint_overflow.so, the Rust half of this library.
 *
 * The shim knows MPI and no engine; the core knows an engine and no MPI. The shim loads the core with dlopen when the
 * program initializes MPI, and calls `matchpoint_core`, its only symbol. One thread at a time calls the functions of a
 * core. Ids are addresses of the shim's records, never 0. */
#ifndef MATCHPOINT_CORE_H
#define MATCHPOINT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Increases whenever a structure below changes: both halves must agree. */
#define CORE_VERSION 2

/* What a receive accepts, or a message carries. A wildcard is -1; a message has none. */
struct core_envelope {
    uint32_t context; /* one for each communicator */
    int32_t source;
    int32_t tag;
};

/* What the shim counts. The core reads it whenever it writes the report. */
struct core_counts {
    uint64_t receives;      /* posted by the program, whoever matched them */
    uint64_t overflowed;    /* of these, posted to the engine, or matched with a message that the engine held */
    uint64_t given_back;    /* of these, posted to the MPI library later, before a call that may block */
    uint64_t give_backs;    /* calls before which that happened */
    uint64_t taken;         /* messages taken from the library's unexpected queue */
    uint64_t watches;       /* times that a long unexpected queue was found */
    int64_t limit_named;    /* receives with a source that the library holds before overflow begins; -1: no limit */
    int64_t limit_any;      /* the same with MPI_ANY_SOURCE */
    uint64_t eager_bytes;   /* receives up to this size may stay in the engine during a call that may block */
    uint64_t synchronous;   /* 1: the program may send synchronously, so none may */
    double entry_named_ns;  /* measured at the start: what the library pays for an entry that it searches */
    double entry_any_ns;
    double overflow_ns;     /* and what a message pays that goes through the engine; 0: not measured */
    int64_t rank;           /* in MPI_COMM_WORLD; -1: none */
};

enum core_result { CORE_QUEUED = 0, CORE_MATCHED = 1, CORE_REFUSED = 2 /* no memory; nothing has changed */ };
enum core_queue { CORE_POSTED = 0, CORE_UNEXPECTED = 1 };

struct core;

struct core_functions {
    uint32_t version; /* CORE_VERSION */
    /* The engine that MATCHPOINT_ENGINE names. NULL: the reason is in `error`. `counts` outlives the core. */
    struct core *(*open)(const struct core_counts *counts, char *error, size_t room);
    /* Writes the last report, and frees the core. */
    void (*close)(struct core *core);
    /* Writes the report of a process that goes on. The first report begins the counts of the engine anew. */
    void (*report)(struct core *core);
    /* A receive is posted. CORE_MATCHED: it takes `*message`. */
    enum core_result (*post)(struct core *core, uint64_t receive, const struct core_envelope *envelope, uint64_t *message);
    /* A message arrives. CORE_MATCHED: `*receive` takes it. */
    enum core_result (*arrive)(struct core *core, uint64_t message, const struct core_envelope *envelope, uint64_t *receive);
    /* The message that such a receive would take: left in the queue, or removed. 0: none. */
    uint64_t (*probe)(struct core *core, const struct core_envelope *envelope);
    uint64_t (*take)(struct core *core, const struct core_envelope *envelope);
    /* Withdraws a receive that was posted with this envelope. False: it is not posted. */
    bool (*cancel)(struct core *core, uint64_t receive, const struct core_envelope *envelope);
    /* Calls `each` for every entry of a queue, oldest first. It must not call the core. */
    void (*visit)(struct core *core, enum core_queue queue, void (*each)(void *argument, uint64_t id), void *argument);
    /* Forgets every receive and message of a context. */
    void (*close_context)(struct core *core, uint32_t context);
};

/* The functions. */
const struct core_functions *matchpoint_core(void);

#endif
