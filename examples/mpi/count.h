/* Counts a program's MPI calls in the program itself. Included after mpi.h, it replaces each call of the
 * point-to-point chapter, and each other call in the list below, by a call that counts and then calls. The
 * kernels need no other change. MPI_Init removes `--count PREFIX` from the command line, and MPI_Finalize
 * writes PREFIX.RANK.json:
 *
 *   {"rank":0,"sends":26,"receives":26,"wildcards":{"none":26,"any_source":0,"any_tag":0,"both":0},
 *    "matched_receives":0,"proc_null":0,"bytes_sent":1664,"calls":{"MPI_Isend":26,…}}
 *
 * The members have the meaning of `matchpoint analyze` (docs/reference/json.md): messages started and
 * receives posted. A persistent request counts once per start; MPI_Sendrecv is one of each; MPI_PROC_NULL and
 * starts of partitioned requests are neither. Probes are not receives. MPI_Mrecv and MPI_Imrecv post no
 * receive, because the probe matched their message. They are `matched_receives`.
 *
 * Count, type, peer and tag are evaluated twice, so they must have no side effects. A tool that records calls
 * does not see the header's calls, which use PMPI_ names. */
#ifndef COUNT_H
#define COUNT_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTED_CALLS(X)                                                                                               \
    X(Init) X(Init_thread) X(Finalize) X(Send) X(Bsend) X(Ssend) X(Rsend) X(Isend) X(Ibsend) X(Issend) X(Irsend)       \
    X(Recv) X(Irecv) X(Sendrecv) X(Sendrecv_replace) X(Isendrecv) X(Isendrecv_replace) X(Send_init) X(Bsend_init)      \
    X(Ssend_init) X(Rsend_init) X(Recv_init) X(Start) X(Startall) X(Probe) X(Iprobe) X(Mprobe) X(Improbe) X(Mrecv)     \
    X(Imrecv) X(Send_c) X(Bsend_c) X(Ssend_c) X(Rsend_c) X(Isend_c) X(Ibsend_c) X(Issend_c) X(Irsend_c) X(Recv_c)      \
    X(Irecv_c) X(Sendrecv_c) X(Sendrecv_replace_c) X(Isendrecv_c) X(Isendrecv_replace_c) X(Send_init_c)                \
    X(Bsend_init_c) X(Ssend_init_c) X(Rsend_init_c) X(Recv_init_c) X(Mrecv_c) X(Imrecv_c) X(Psend_init) X(Precv_init)  \
    X(Pready) X(Pready_range) X(Pready_list) X(Parrived) X(Cancel) X(Request_free) X(Request_get_status) X(Wait)       \
    X(Waitany) X(Waitall) X(Waitsome) X(Test) X(Testany) X(Testall) X(Testsome) X(Test_cancelled) X(Barrier)           \
    X(Ibarrier) X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Gatherv) X(Allgather) X(Allgatherv) X(Alltoall) X(Scan)    \
    X(Exscan) X(Reduce_scatter_block) X(Comm_dup) X(Comm_idup) X(Comm_split) X(Comm_create) X(Comm_create_group)       \
    X(Comm_create_from_group) X(Comm_free) X(Comm_group) X(Comm_rank) X(Comm_size) X(Comm_remote_size) X(Comm_spawn)   \
    X(Comm_get_parent) X(Comm_disconnect) X(Cart_create) X(Cart_coords) X(Cart_rank) X(Cart_shift) X(Dims_create)      \
    X(Intercomm_create) X(Intercomm_merge)

enum {
#define COUNTED_NAME(name) COUNTED_##name,
    COUNTED_CALLS(COUNTED_NAME)
#undef COUNTED_NAME
        COUNTED_LENGTH
};

/* Effect of a persistent request at each start. */
struct counted_request {
    MPI_Request request;
    bool receives;
    int peer, tag;
    long long bytes;
    struct counted_request *next;
};

static struct {
    atomic_llong calls[COUNTED_LENGTH];
    atomic_llong sends, receives, none, any_source, any_tag, both, matched_receives, proc_null, bytes_sent;
    struct counted_request *persistent;
    atomic_flag persistent_is_busy;
    const char *prefix;
} counted = {.persistent_is_busy = ATOMIC_FLAG_INIT};

static inline void count_call(int call) { counted.calls[call]++; }

static inline long long count_bytes(long long count, MPI_Datatype type) {
    int size;
    PMPI_Type_size(type, &size);
    return count * size;
}

static inline void count_message(int peer, long long bytes) {
    if (peer == MPI_PROC_NULL) {
        counted.proc_null++;
        return;
    }
    counted.sends++;
    counted.bytes_sent += bytes;
}

static inline void count_posted(int peer, int tag) {
    if (peer == MPI_PROC_NULL) {
        counted.proc_null++;
        return;
    }
    counted.receives++;
    if (peer == MPI_ANY_SOURCE)
        *(tag == MPI_ANY_TAG ? &counted.both : &counted.any_source) += 1;
    else
        *(tag == MPI_ANY_TAG ? &counted.any_tag : &counted.none) += 1;
}

static inline void count_send(int call, long long count, MPI_Datatype type, int peer) {
    count_call(call);
    count_message(peer, count_bytes(count, type));
}

static inline void count_receive(int call, int peer, int tag) {
    count_call(call);
    count_posted(peer, tag);
}

static inline void count_both(int call, long long count, MPI_Datatype type, int to, int from, int tag) {
    count_send(call, count, type, to);
    count_posted(from, tag);
}

static inline void count_matched_receive(int call, MPI_Message message) {
    count_call(call);
    if (message != MPI_MESSAGE_NO_PROC) counted.matched_receives++;
}

static inline void count_lock(void) {
    while (atomic_flag_test_and_set(&counted.persistent_is_busy)) {}
}

static inline void count_unlock(void) { atomic_flag_clear(&counted.persistent_is_busy); }

/* Address of the request under creation. */
static _Thread_local MPI_Request *counted_made;

static inline int count_init(int result, struct counted_request made) {
    struct counted_request *kept = malloc(sizeof *kept);
    if (!kept) abort();
    count_lock();
    made.request = *counted_made;
    made.next = counted.persistent;
    *kept = made;
    counted.persistent = kept;
    count_unlock();
    return result;
}

/* Requests that are not on the list are partitioned ones. */
static inline void count_start(MPI_Request request) {
    count_lock();
    struct counted_request *known = counted.persistent;
    while (known && known->request != request) known = known->next;
    if (known && known->receives) count_posted(known->peer, known->tag);
    if (known && !known->receives) count_message(known->peer, known->bytes);
    count_unlock();
}

static inline void count_startall(int length, const MPI_Request *requests) {
    count_call(COUNTED_Startall);
    for (int i = 0; i < length; i++) count_start(requests[i]);
}

/* A handle may be reused for another request. */
static inline void count_request_free(MPI_Request request) {
    count_call(COUNTED_Request_free);
    count_lock();
    struct counted_request **link = &counted.persistent;
    while (*link && (*link)->request != request) link = &(*link)->next;
    if (*link) {
        struct counted_request *gone = *link;
        *link = gone->next;
        free(gone);
    }
    count_unlock();
}

static inline void count_begin(int call, int *argc, char **argv) {
    count_call(call);
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], "--count") != 0) continue;
        counted.prefix = argv[i + 1];
        memmove(argv + i, argv + i + 2, (size_t)(*argc - i - 1) * sizeof *argv);
        *argc -= 2;
        return;
    }
}

static inline void count_end(void) {
    static const char *const names[] = {
#define COUNTED_NAME(name) "MPI_" #name,
        COUNTED_CALLS(COUNTED_NAME)
#undef COUNTED_NAME
    };
    int rank;
    char path[4096];
    count_call(COUNTED_Finalize);
    if (!counted.prefix) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d.json", counted.prefix, rank);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        PMPI_Abort(MPI_COMM_WORLD, 2);
        return;
    }
    fprintf(file, "{\"rank\":%d,\"sends\":%lld,\"receives\":%lld,", rank, counted.sends, counted.receives);
    fprintf(file, "\"wildcards\":{\"none\":%lld,\"any_source\":%lld,\"any_tag\":%lld,\"both\":%lld},", counted.none,
            counted.any_source, counted.any_tag, counted.both);
    fprintf(file, "\"matched_receives\":%lld,\"proc_null\":%lld,\"bytes_sent\":%lld,\"calls\":{",
            counted.matched_receives, counted.proc_null, counted.bytes_sent);
    const char *between = "";
    for (int call = 0; call < COUNTED_LENGTH; call++) {
        if (counted.calls[call] == 0) continue;
        fprintf(file, "%s\"%s\":%lld", between, names[call], counted.calls[call]);
        between = ",";
    }
    fputs("}}\n", file);
    fclose(file);
}

#include "count_calls.h"

#endif
