/* Makes random calls in several threads and writes their arguments and results: one line per call, one file
 * DIR/NUMBER per thread. A thread's first call is a send of FIRST_BYTES, with its number as tag.
 *
 * Usage: program DIR CALLS SHORT: CALLS calls in each of four threads, then SHORT threads of ten calls. */
#include "answers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Init_thread(int *, char ***, int, int *);
int MPI_Finalize(void);
int MPI_Cancel(MPI_Request *);
int MPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
int MPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Iprobe(int, int, MPI_Comm, int *, MPI_Status *);
int MPI_Waitall(int, MPI_Request[], MPI_Status[]);
int MPI_Waitany(int, MPI_Request[], int *, MPI_Status *);
int MPI_Testsome(int, MPI_Request[], int *, int[], MPI_Status[]);
int MPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm *);
int MPI_Comm_free(MPI_Comm *);

enum { MOST = 60000, FEW = 12, FIRST_BYTES = 777777777 };

struct run {
    pthread_t thread;
    const char *folder;
    int number;
    long calls;
    uint64_t state;
    FILE *truth;
    long made; /* requests made so far */
    MPI_Request requests[MOST];
    long numbers[MOST]; /* numbers of these requests */
    int pending;
    int indices[MOST];
    MPI_Status statuses[MOST], out[MOST];
};

static uint64_t next(struct run *run)
{
    run->state ^= run->state << 13;
    run->state ^= run->state >> 7;
    run->state ^= run->state << 17;
    return run->state;
}

static int below(struct run *run, uint64_t limit) { return (int)((next(run) >> 11) % limit); }

/* A number with at most `bits` bits: small and large numbers are equally frequent. */
static int64_t some_bits(struct run *run, int bits) { return (int64_t)(next(run) >> (64 - 1 - below(run, (uint64_t)bits))); }

/* A handle that no other live request has: 404 threads, millions of requests. Larger than the standard's constants. */
static uintptr_t handle(struct run *run)
{
    uint64_t unique = ((uint64_t)run->made * 512 + (uint64_t)run->number) % (UINT64_C(1) << 32);
    return (uintptr_t)(unique << 30 | (0x1000 + (uint64_t)some_bits(run, 29)));
}

static int peer(struct run *run, bool receives)
{
    int kind = below(run, 8);
    return kind == 0 ? MPI_PROC_NULL : kind == 1 && receives ? MPI_ANY_SOURCE : (int)some_bits(run, 31);
}

static int tag(struct run *run, bool receives)
{
    return receives && below(run, 4) == 0 ? MPI_ANY_TAG : (int)some_bits(run, 31);
}

static void write_peer(struct run *run, int rank)
{
    if (rank < 0)
        fputs(rank == MPI_ANY_SOURCE ? " any" : " null", run->truth);
    else
        fprintf(run->truth, " %d", rank);
}

static void write_tag(struct run *run, int tag)
{
    if (tag == MPI_ANY_TAG)
        fputs(" any", run->truth);
    else
        fprintf(run->truth, " %d", tag);
}

static MPI_Status status(struct run *run)
{
    int64_t length = some_bits(run, 60);
    MPI_Status status = {.MPI_SOURCE = (int)some_bits(run, 31), .MPI_TAG = (int)some_bits(run, 31)};
    status.MPI_internal[INTERNAL_LOW] = (int)(length & 0x7fffffff);
    status.MPI_internal[INTERNAL_HIGH] = (int)(length >> 31);
    status.MPI_internal[INTERNAL_CANCELLED] = below(run, 9) == 0;
    return status;
}

static void write_status(struct run *run, const MPI_Status *status)
{
    if (status->MPI_internal[INTERNAL_CANCELLED])
        fputs(" cancelled", run->truth);
    else
        fprintf(run->truth, " %d,%d,%" PRId64, status->MPI_SOURCE, status->MPI_TAG,
                (int64_t)status->MPI_internal[INTERNAL_HIGH] << 31 | status->MPI_internal[INTERNAL_LOW]);
}

/* Arguments of a message, written when they are chosen. */
struct message {
    int count, rank, tag;
    MPI_Datatype type;
};

static struct message message(struct run *run, const char *name, bool receives)
{
    struct message made = {.count = (int)some_bits(run, 31), .rank = peer(run, receives), .tag = tag(run, receives)};
    int size = (int)some_bits(run, 20);
    made.type = (MPI_Datatype)(TYPE_BASE + size);
    fputs(name, run->truth);
    write_peer(run, made.rank);
    write_tag(run, made.tag);
    fprintf(run->truth, " %" PRId64, (int64_t)made.count * size);
    return made;
}

static void begin_request(struct run *run, bool receives)
{
    struct message args = message(run, receives ? "Irecv" : "Isend", receives);
    MPI_Request *request = &run->requests[run->pending];
    answers.request = (MPI_Request)handle(run);
    if (receives)
        MPI_Irecv(NULL, args.count, args.type, args.rank, args.tag, MPI_COMM_WORLD, request);
    else
        MPI_Isend(NULL, args.count, args.type, args.rank, args.tag, MPI_COMM_WORLD, request);
    fprintf(run->truth, " #%ld\n", run->made);
    run->numbers[run->pending++] = run->made++;
}

static void wait_all(struct run *run)
{
    int living = 0;
    for (int i = 0; i < run->pending; i++)
        living += run->requests[i] != MPI_REQUEST_NULL;
    fputs("Waitall", run->truth);
    /* A call without completions does not record the tested requests. */
    for (int i = 0; (living > 0 || run->pending <= 1) && i < run->pending; i++) {
        if (run->requests[i] == MPI_REQUEST_NULL)
            fputs(" -", run->truth);
        else
            fprintf(run->truth, " #%ld", run->numbers[i]);
    }
    fputs(" |", run->truth);
    for (int i = 0; i < run->pending; i++) {
        run->statuses[i] = status(run);
        if (run->requests[i] == MPI_REQUEST_NULL)
            continue;
        fprintf(run->truth, " %d:", i);
        write_status(run, &run->statuses[i]);
    }
    fputs("\n", run->truth);
    answers.statuses = run->statuses;
    MPI_Waitall(run->pending, run->requests, below(run, 2) ? run->out : MPI_STATUSES_IGNORE);
    run->pending = 0;
}

/* Calls for any or some requests record only completed ones, in the library's order. */
static void write_found(struct run *run, const char *name, int completed)
{
    fputs(name, run->truth);
    for (int i = 0; i < completed; i++)
        fprintf(run->truth, " #%ld", run->numbers[run->indices[i]]);
    fputs(" |", run->truth);
    for (int i = 0; i < completed; i++) {
        run->statuses[i] = status(run);
        fprintf(run->truth, " %d:", i);
        write_status(run, &run->statuses[i]);
    }
    fputs("\n", run->truth);
    answers.completed = completed;
    answers.indices = run->indices;
    answers.statuses = run->statuses;
}

/* Completes each remaining request with probability one half, in any order; or none. */
static void test_some(struct run *run)
{
    int completed = 0;
    bool finds = below(run, 3) != 0;
    for (int i = 0; finds && i < run->pending; i++)
        if (run->requests[i] != MPI_REQUEST_NULL && below(run, 2))
            run->indices[completed++] = i;
    for (int i = completed - 1; i > 0; i--) {
        int other = below(run, (uint64_t)i + 1), index = run->indices[i];
        run->indices[i] = run->indices[other];
        run->indices[other] = index;
    }
    write_found(run, "Testsome", completed);
    int indices[MOST];
    MPI_Testsome(run->pending, run->requests, &completed, indices, below(run, 2) ? run->out : MPI_STATUSES_IGNORE);
}

/* Completes the first remaining request after a random position. */
static void wait_any(struct run *run)
{
    int index, completed = 0;
    for (int i = run->pending > 0 ? below(run, (uint64_t)run->pending) : 0; i < run->pending && completed == 0; i++)
        if (run->requests[i] != MPI_REQUEST_NULL)
            run->indices[completed++] = i;
    write_found(run, "Waitany", completed);
    MPI_Waitany(run->pending, run->requests, &index, below(run, 2) ? run->out : MPI_STATUS_IGNORE);
}

/* Ascending, descending and single runs, with members of other worlds between them. */
static void create_group(struct run *run)
{
    int ranks[200], members = 0;
    while (members < 150 && below(run, 8) != 0) {
        int first = below(run, 1000), step = below(run, 5) - 2, length = 1 + below(run, 20);
        bool foreign = below(run, 3) == 0;
        for (int i = 0; i < length && (foreign || first + i * step >= 0); i++)
            ranks[members++] = foreign ? -1 : first + i * step;
    }
    MPI_Comm comm;
    int label = tag(run, false);
    fprintf(run->truth, "Comm_create_group %d", label);
    for (int i = 0; i < members; i++)
        fprintf(run->truth, " %d", ranks[i]);
    fputs("\nComm_free\n", run->truth);
    answers.comm = (MPI_Comm)(handle(run) | 1);
    answers.members = members;
    answers.ranks = ranks;
    MPI_Comm_create_group(MPI_COMM_WORLD, NULL, label, &comm);
    MPI_Comm_free(&comm);
}

static void any_call(struct run *run)
{
    struct message args;
    int flag;
    switch (below(run, 9)) {
    case 0:
        args = message(run, "Send", false);
        MPI_Send(NULL, args.count, args.type, args.rank, args.tag, MPI_COMM_WORLD);
        fputs("\n", run->truth);
        return;
    case 1:
        args = message(run, "Recv", true);
        answers.status = status(run);
        MPI_Recv(NULL, args.count, args.type, args.rank, args.tag, MPI_COMM_SELF, below(run, 2) ? run->out : NULL);
        write_status(run, &answers.status);
        fputs("\n", run->truth);
        return;
    case 2:
        args = (struct message){.rank = peer(run, true), .tag = tag(run, true)};
        answers.flag = below(run, 2);
        answers.status = status(run);
        MPI_Iprobe(args.rank, args.tag, MPI_COMM_WORLD, &flag, below(run, 2) ? run->out : MPI_STATUS_IGNORE);
        fputs("Iprobe", run->truth);
        write_peer(run, args.rank);
        write_tag(run, args.tag);
        fputs(answers.flag ? " 1" : " 0 none", run->truth);
        if (answers.flag)
            write_status(run, &answers.status);
        fputs("\n", run->truth);
        return;
    case 3:
        if (below(run, 4) == 0)
            create_group(run);
        return;
    case 4:
        test_some(run);
        return;
    case 5:
        wait_any(run);
        return;
    default:
        if (run->pending >= FEW || (run->pending > 0 && below(run, 4) == 0))
            wait_all(run);
        else
            begin_request(run, below(run, 2));
    }
}

static void *calls(void *argument)
{
    struct run *run = argument;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", run->folder, run->number);
    run->truth = fopen(path, "w");
    if (run->truth == NULL)
        abort();
    run->state = 88172645463325252u ^ ((uint64_t)run->number * 0x9e3779b97f4a7c15u);
    fprintf(run->truth, "Send 0 %d %d\n", run->number, FIRST_BYTES);
    MPI_Send(NULL, 1, (MPI_Datatype)(TYPE_BASE + FIRST_BYTES), 0, run->number, MPI_COMM_WORLD);
    for (long call = 0; call < run->calls; call++) {
        /* Half a ring is 131072 words: this record is outside the ring. */
        if (run->calls > 1000 && call % 10000 == 5000)
            while (run->pending < 40000)
                begin_request(run, true);
        if (run->calls > 1000 && call % 100 == 50)
            while (run->pending < 700)
                begin_request(run, false);
        any_call(run);
        if (run->pending > FEW)
            wait_all(run);
    }
    fclose(run->truth);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, number = 1;
    if (argc != 4)
        return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    /* From now on, the recorder checks statuses for cancelled requests. */
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Cancel(&none);
    struct run *runs = calloc(4, sizeof *runs);
    for (long begun = 0; begun < 4 + atol(argv[3]); begun += 4) {
        for (int i = 0; i < 4; i++) {
            runs[i].folder = argv[1];
            runs[i].number = number++;
            runs[i].calls = begun == 0 ? atol(argv[2]) : 10;
            runs[i].pending = 0;
            runs[i].made = 0;
            pthread_create(&runs[i].thread, NULL, calls, &runs[i]);
        }
        for (int i = 0; i < 4; i++)
            pthread_join(runs[i].thread, NULL);
    }
    free(runs);
    return MPI_Finalize();
}
