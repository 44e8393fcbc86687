/* The interface of libmatchpoint_overflow.so, the core: the Rust part of overflow matching.
 *
 * The shim handles MPI, the core handles the engine. The shim loads the core with dlopen when the program
 * initializes MPI, and calls `matchpoint_core`, its only symbol. One thread at a time calls the functions of a core.
 * Ids are addresses of the shim's records, never 0. */
#ifndef MATCHPOINT_CORE_H
#define MATCHPOINT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Incremented when a structure below changes. Both parts check it. */
#define CORE_VERSION 3

/* The envelope of a message, or of a receive. -1 in a receive: any source, any tag. */
struct core_envelope {
    uint32_t context; /* context id */
    int32_t source;
    int32_t tag;
};

/* Counts of the shim. The core reads them when it writes a report. */
struct core_counts {
    uint64_t receives;     /* posted by the program */
    uint64_t overflowed;   /* of these, posted to the engine or matched with a message in the engine */
    uint64_t given_back;   /* of these, posted to the MPI library later, before a call that may block */
    uint64_t give_backs;   /* calls that gave receives back */
    uint64_t taken;        /* messages taken from the library's unexpected queue */
    uint64_t watches;      /* detected long unexpected queues */
    int64_t limit_named;   /* limit of receives with a source in the library; -1: no limit */
    int64_t limit_any;     /* the same with MPI_ANY_SOURCE */
    uint64_t eager_bytes;  /* receives up to this size may stay in the engine during a call that may block */
    uint64_t synchronous;  /* 1: the program may send synchronously, so no receive may stay */
    double entry_named_ns; /* measured cost of an entry in a search of the library */
    double entry_any_ns;
    double overflow_ns; /* cost of a message through the engine; 0: not measured */
    int64_t rank;       /* in MPI_COMM_WORLD; -1: unknown */
    uint64_t off;       /* why overflow matching is off: enum core_off */
};

enum core_off {
    CORE_ON = 0,
    CORE_OFF_PROGRAM = 1,  /* the program uses a function that needs all messages in the library */
    CORE_OFF_LIBRARY = 2,  /* MPI_Imrecv fails in Open MPI's cm */
    CORE_OFF_PROCESSES = 3 /* the library cannot probe for messages of spawned or connected processes */
};

enum core_result { CORE_QUEUED = 0, CORE_MATCHED = 1, CORE_REFUSED = 2 /* no memory; unchanged queues */ };
enum core_queue { CORE_POSTED = 0, CORE_UNEXPECTED = 1 };

struct core;

struct core_functions {
    uint32_t version; /* CORE_VERSION */
    /* Opens a core with the engine of MATCHPOINT_ENGINE. NULL: `error` has the reason. `counts` outlives the core. */
    struct core *(*open)(const struct core_counts *counts, char *error, size_t room);
    /* Writes the last report and frees the core. */
    void (*close)(struct core *core);
    /* Writes an intermediate report. The first report resets the counts of the engine. */
    void (*report)(struct core *core);
    /* Posts a receive. CORE_MATCHED: the receive takes `*message`. */
    enum core_result (*post)(struct core *core, uint64_t receive, const struct core_envelope *envelope, uint64_t *message);
    /* Adds an arriving message. CORE_MATCHED: `*receive` takes it. */
    enum core_result (*arrive)(struct core *core, uint64_t message, const struct core_envelope *envelope, uint64_t *receive);
    /* Returns the message that a receive with this envelope would take, or 0. `take` removes it. */
    uint64_t (*probe)(struct core *core, const struct core_envelope *envelope);
    uint64_t (*take)(struct core *core, const struct core_envelope *envelope);
    /* Cancels a receive posted with this envelope. Returns whether it was posted. */
    bool (*cancel)(struct core *core, uint64_t receive, const struct core_envelope *envelope);
    /* Calls `each` for every entry of a queue, oldest first. `each` must not call the core. */
    void (*visit)(struct core *core, enum core_queue queue, void (*each)(void *argument, uint64_t id), void *argument);
    /* Removes all receives and messages of a context. */
    void (*close_context)(struct core *core, uint32_t context);
};

/* Returns the functions. */
const struct core_functions *matchpoint_core(void);

#endif
