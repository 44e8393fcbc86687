// Errors of receives in a full queue: truncation and invalid arguments. Prints a transcript to compare with another run.
//
//     mpiexec -n 2..4 errors [--fill N] [--skip-long]
//
// Rank 1 sends, rank 0 receives and prints one line per check. All lines are deterministic: two runs under one MPI
// library, with and without overflow matching, must print the same text. --skip-long leaves out truncated messages of
// 200,000 bytes.
#include "checks.h"

// Open MPI aborts in MPI_Iprobe with MPI_COMM_NULL, with any error handler.
#ifdef OPEN_MPI
enum { IPROBE_ABORTS = 1 };
#else
enum { IPROBE_ABORTS = 0 };
#endif
// Open MPI writes behind the buffer of a truncated long message.
#define LONG_TRUNCATION_OVERRUNS IPROBE_ABORTS
// MPICH 5.0 reports no error for a truncated unexpected message if the receive uses MPI_ANY_SOURCE.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000 && !defined(I_MPI_VERSION)
enum { ANY_SOURCE_HIDES_TRUNCATION = 1 };
#else
enum { ANY_SOURCE_HIDES_TRUNCATION = 0 };
#endif

enum { SHORT_BYTES = 100, LONG_BYTES = 200000, ROOM = LONG_BYTES, RECEIVES = 6, UNTOUCHED = 4711 };

static MPI_Comm comm, other_comm;
static int world_calls, comm_calls, other_calls, wrong_comm, last_class;
static char in[RECEIVES][ROOM], out[ROOM];

static const char *class_name(int code) {
    int class = MPI_SUCCESS;
    if (code == UNTOUCHED) return "untouched";
    MPI_Error_class(code, &class);
    switch (class) {
    case MPI_SUCCESS: return "MPI_SUCCESS";
    case MPI_ERR_TRUNCATE: return "MPI_ERR_TRUNCATE";
    case MPI_ERR_IN_STATUS: return "MPI_ERR_IN_STATUS";
    case MPI_ERR_PENDING: return "MPI_ERR_PENDING";
    case MPI_ERR_RANK: return "MPI_ERR_RANK";
    case MPI_ERR_TAG: return "MPI_ERR_TAG";
    case MPI_ERR_COUNT: return "MPI_ERR_COUNT";
    case MPI_ERR_TYPE: return "MPI_ERR_TYPE";
    case MPI_ERR_COMM: return "MPI_ERR_COMM";
    case MPI_ERR_BUFFER: return "MPI_ERR_BUFFER";
    case MPI_ERR_REQUEST: return "MPI_ERR_REQUEST";
    case MPI_ERR_ARG: return "MPI_ERR_ARG";
    case MPI_ERR_OTHER: return "MPI_ERR_OTHER";
    default: return "another class";
    }
}

static void note_error(const MPI_Comm *handed, MPI_Comm expected, int code, int *calls) {
    int result = MPI_UNEQUAL;
    if (*handed != MPI_COMM_NULL) MPI_Comm_compare(*handed, expected, &result);
    wrong_comm += result != MPI_IDENT;
    (*calls)++, last_class = code;
}
static void world_handler(MPI_Comm *handed, int *code, ...) { note_error(handed, MPI_COMM_WORLD, *code, &world_calls); }
static void comm_handler(MPI_Comm *handed, int *code, ...) { note_error(handed, comm, *code, &comm_calls); }
static void other_handler(MPI_Comm *handed, int *code, ...) { note_error(handed, other_comm, *code, &other_calls); }

// Prints the calls of the error handlers since the last line.
static void print_handlers(void) {
    printf(" handlers world %d comm %d other %d", world_calls, comm_calls, other_calls);
    if (world_calls + comm_calls + other_calls) printf(" class %s wrong comm %d", class_name(last_class), wrong_comm);
    printf("\n"), fflush(stdout);
    world_calls = comm_calls = other_calls = wrong_comm = 0;
}

static void print_status(const MPI_Status *status) {
    printf(" [source %d tag %d error %s]", status->MPI_SOURCE, status->MPI_TAG, class_name(status->MPI_ERROR));
}

static MPI_Status marked(void) {
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = -99, status.MPI_ERROR = UNTOUCHED;
    return status;
}

// Rank 0 and rank 1 continue together. Ranks above 1 take no part.
static void synchronize(void) {
    MPI_Sendrecv(NULL, 0, MPI_BYTE, 1 - rank, 950, NULL, 0, MPI_BYTE, 1 - rank, 950, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// How a message relates to its receive.
typedef struct variant {
    const char *name;
    int bytes, is_unexpected, uses_wildcards;
} variant_t;

static const variant_t variants[] = {
    {"expected", SHORT_BYTES, 0, 0},
    {"unexpected", SHORT_BYTES, 1, 0},
    {"expected any source", SHORT_BYTES, 0, 1},
    {"unexpected any source", SHORT_BYTES, 1, 1},
    {"long expected", LONG_BYTES, 0, 0},
    {"long unexpected", LONG_BYTES, 1, 0},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

// The buffer of receive `at` has half the size of its message if `at` is odd, otherwise the whole size.
static int room_of(const variant_t *variant, int at) { return at % 2 ? variant->bytes / 2 : variant->bytes; }

static void send_messages(const variant_t *variant, int count, int first) {
    MPI_Request requests[RECEIVES];
    if (!variant->is_unexpected) synchronize();
    for (int at = 0; at < count; at++) {
        MPI_Isend(out, variant->bytes, MPI_BYTE, 0, first + at, at % 3 == 2 ? other_comm : comm, &requests[at]);
    }
    if (variant->is_unexpected) synchronize();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void post_receives(const variant_t *variant, int count, int first, MPI_Request *requests) {
    if (variant->is_unexpected) {
        synchronize();
        for (int at = 0; at < count; at++) MPI_Probe(1, first + at, at % 3 == 2 ? other_comm : comm, MPI_STATUS_IGNORE);
    }
    for (int at = 0; at < count; at++) {
        int source = variant->uses_wildcards ? MPI_ANY_SOURCE : 1;
        MPI_Irecv(in[at], room_of(variant, at), MPI_BYTE, source, first + at, at % 3 == 2 ? other_comm : comm,
                  &requests[at]);
    }
    if (!variant->is_unexpected) synchronize();
}

enum { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, WAITALL_IGNORE, WAIT_IGNORE, CALLS };
static const char *const call_names[CALLS] = {"MPI_Wait",     "MPI_Test",     "MPI_Waitall",
                                              "MPI_Testall",  "MPI_Waitany",  "MPI_Testany",
                                              "MPI_Waitsome", "MPI_Testsome", "MPI_Waitall without statuses",
                                              "MPI_Wait without status"};

static void print_requests(const MPI_Request *requests, int count) {
    printf(" null");
    for (int at = 0; at < count; at++) printf(" %d", requests[at] == MPI_REQUEST_NULL);
}

// One truncated receive (index 1 of two, so that the first one completes well).
static void complete_single(int call, MPI_Request *request, int *code, MPI_Status *status) {
    int flag = 0, index = -1;
    *code = MPI_SUCCESS;
    switch (call) {
    case WAIT: *code = MPI_Wait(request, status); break;
    case WAIT_IGNORE: *code = MPI_Wait(request, MPI_STATUS_IGNORE); break;
    case TEST:
        while (!flag && *code == MPI_SUCCESS) *code = MPI_Test(request, &flag, status);
        break;
    case WAITANY: *code = MPI_Waitany(1, request, &index, status); break;
    case TESTANY:
        while (!flag && *code == MPI_SUCCESS) *code = MPI_Testany(1, request, &index, &flag, status);
        break;
    }
    if (call == WAITANY || call == TESTANY) printf(" index %d", index);
}

// Waits with MPI_Request_get_status until all are complete, so that array calls find them complete.
static void wait_until_complete(int count, const MPI_Request *requests) {
    for (int at = 0; at < count; at++) {
        MPI_Status status;
        for (int flag = 0; !flag;) {
            if (MPI_Request_get_status(requests[at], &flag, &status) != MPI_SUCCESS) break;
        }
    }
    world_calls = comm_calls = other_calls = wrong_comm = 0;
}

static void receive_truncated(int call, const variant_t *variant) {
    MPI_Request requests[RECEIVES];
    MPI_Status statuses[RECEIVES];
    int code = MPI_SUCCESS, flag = 0, count = 0, indices[RECEIVES];
    for (int at = 0; at < RECEIVES; at++) statuses[at] = marked();
    post_receives(variant, RECEIVES, 0, requests);
    wait_until_complete(RECEIVES, requests);
    switch (call) {
    case WAITALL: code = MPI_Waitall(RECEIVES, requests, statuses); break;
    case WAITALL_IGNORE: code = MPI_Waitall(RECEIVES, requests, MPI_STATUSES_IGNORE); break;
    case TESTALL: code = MPI_Testall(RECEIVES, requests, &flag, statuses); break;
    case WAITSOME: code = MPI_Waitsome(RECEIVES, requests, &count, indices, statuses); break;
    case TESTSOME: code = MPI_Testsome(RECEIVES, requests, &count, indices, statuses); break;
    default:
        for (int at = 0; at < RECEIVES; at++) {
            printf("errors: %s, %s, receive %d:", call_names[call], variant->name, at);
            complete_single(call, &requests[at], &code, &statuses[at]);
            printf(" %s", class_name(code));
            if (call != WAIT_IGNORE) print_status(&statuses[at]);
            print_requests(&requests[at], 1);
            print_handlers();
        }
        return;
    }
    printf("errors: %s, %s: %s count %d", call_names[call], variant->name, class_name(code), count);
    if (call != WAITALL_IGNORE && code != MPI_SUCCESS) {
        for (int at = 0; at < RECEIVES; at++) print_status(&statuses[at]);
    }
    print_requests(requests, RECEIVES);
    print_handlers();
    for (int at = 0; at < RECEIVES; at++) {
        if (requests[at] != MPI_REQUEST_NULL) MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    }
    world_calls = comm_calls = other_calls = wrong_comm = 0;
}

// Data in the buffer of a truncated receive is not checked: MPI leaves it undefined. The bytes after the buffer stay
// unchanged.
static void check_bytes_after(const variant_t *variant) {
    for (int at = 1; at < RECEIVES; at += 2) {
        if (LONG_TRUNCATION_OVERRUNS && variant->bytes == LONG_BYTES) continue;
        int room = room_of(variant, at);
        CHECK(in[at][room] == 0x55, "receive %d: bytes after its room have changed", at);
    }
}

static void run_variant(const variant_t *variant) {
    for (int call = 0; call < CALLS; call++) {
        memset(in, 0x55, sizeof in);
        if (rank == 1) send_messages(variant, RECEIVES, 0);
        if (rank == 0) receive_truncated(call, variant), check_bytes_after(variant);
    }
}

// Truncation in blocking calls.
static void run_blocking(const variant_t *variant) {
    static const char *const names[] = {"MPI_Recv", "MPI_Sendrecv", "MPI_Mrecv", "MPI_Imrecv"};
    int bytes = variant->bytes;
    for (int call = 0; call < 4; call++) {
        MPI_Status status = marked();
        MPI_Message message;
        MPI_Request request;
        int code = MPI_SUCCESS, source = variant->uses_wildcards ? MPI_ANY_SOURCE : 1;
        if (rank == 1) {
            MPI_Isend(out, bytes, MPI_BYTE, 0, 30, comm, &request);
            if (variant->is_unexpected) synchronize();
            if (call == 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, 31, comm, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            if (variant->is_unexpected) synchronize(), MPI_Probe(1, 30, comm, MPI_STATUS_IGNORE);
            switch (call) {
            case 0: code = MPI_Recv(in[0], bytes / 2, MPI_BYTE, source, 30, comm, &status); break;
            case 1:
                code = MPI_Sendrecv(NULL, 0, MPI_BYTE, 1, 31, in[0], bytes / 2, MPI_BYTE, source, 30, comm, &status);
                break;
            default:
                MPI_Mprobe(source, 30, comm, &message, MPI_STATUS_IGNORE);
                if (call == 2) code = MPI_Mrecv(in[0], bytes / 2, MPI_BYTE, &message, &status);
                if (call == 2) break;
                MPI_Imrecv(in[0], bytes / 2, MPI_BYTE, &message, &request);
                code = MPI_Wait(&request, &status);
            }
            printf("errors: %s, %s: %s", names[call], variant->name, class_name(code));
            print_status(&status);
            print_handlers();
        }
    }
}

// The arguments of a receive, one of them invalid.
typedef struct arguments {
    const char *name;
    int count, source, tag;
    MPI_Datatype type;
    MPI_Comm comm;
} arguments_t;

static void print_call(const char *call, const arguments_t *a, int code, const MPI_Request *request) {
    printf("errors: %s, %s: %s", call, a->name, class_name(code));
    if (request) printf(" request null %d", *request == MPI_REQUEST_NULL);
    print_handlers();
}

static void call_with_invalid(const arguments_t *a) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = -1, code = MPI_Irecv(in[0], a->count, a->type, a->source, a->tag, a->comm, &request);
    print_call("MPI_Irecv", a, code, &request);
    code = MPI_Recv(in[0], a->count, a->type, a->source, a->tag, a->comm, &status);
    print_call("MPI_Recv", a, code, NULL);
    request = MPI_REQUEST_NULL;
    code = MPI_Recv_init(in[0], a->count, a->type, a->source, a->tag, a->comm, &request);
    print_call("MPI_Recv_init", a, code, &request);
    if (a->comm == MPI_COMM_NULL && IPROBE_ABORTS) return;
    code = MPI_Iprobe(a->source, a->tag, a->comm, &flag, &status);
    print_call("MPI_Iprobe", a, code, NULL);
}

// The call returns an error and leaves no receive.
static void run_invalid(void) {
    MPI_Datatype uncommitted;
    MPI_Status status;
    int value = -1;
    MPI_Type_contiguous(3, MPI_INT, &uncommitted);
    const arguments_t cases[] = {
        {"source too large", 1, ranks, 40, MPI_INT, comm},
        {"source negative", 1, -77, 40, MPI_INT, comm},
        {"tag negative", 1, 1, -77, MPI_INT, comm},
        {"count negative", -1, 1, 40, MPI_INT, comm},
        {"type null", 1, 1, 40, MPI_DATATYPE_NULL, comm},
        {"type uncommitted", 1, 1, 40, uncommitted, comm},
        {"communicator null", 1, 1, 40, MPI_INT, MPI_COMM_NULL},
        {"any source, tag negative", 1, MPI_ANY_SOURCE, -77, MPI_INT, comm},
    };
    for (int at = 0; at < (int)(sizeof cases / sizeof *cases); at++) {
        if (rank == 0) {
            MPI_Request request;
            call_with_invalid(&cases[at]);
            // The next message of this tag has exactly one receive.
            MPI_Irecv(&value, 1, MPI_INT, 1, 40, comm, &request);
            synchronize();
            MPI_Wait(&request, &status);
            CHECK(value == at, "%s: the next receive has message %d", cases[at].name, value);
            CHECK_STATUS(&status, 1, 40, 4);
        } else {
            synchronize();
            MPI_Send(&at, 1, MPI_INT, 0, 40, comm);
        }
    }
    MPI_Type_free(&uncommitted);
}

static void set_handlers(int is_return, MPI_Errhandler *handlers) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, is_return ? MPI_ERRORS_RETURN : handlers[0]);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, is_return ? MPI_ERRORS_RETURN : handlers[1]);
    MPI_Comm_set_errhandler(other_comm, is_return ? MPI_ERRORS_RETURN : handlers[2]);
}

int main(int argc, char **argv) {
    MPI_Errhandler handlers[3];
    filler_t filler;
    begin(&argc, &argv, "errors");
    int variants_run = has_flag(argc, argv, "--skip-long") ? VARIANTS - 2 : VARIANTS;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_Comm_dup(MPI_COMM_WORLD, &other_comm);
    MPI_Comm_create_errhandler(world_handler, &handlers[0]);
    MPI_Comm_create_errhandler(comm_handler, &handlers[1]);
    MPI_Comm_create_errhandler(other_handler, &handlers[2]);
    if (IPROBE_ABORTS) report_skip("MPI_Iprobe with MPI_COMM_NULL", "the library aborts");
    if (LONG_TRUNCATION_OVERRUNS)
        report_skip("bytes after a truncated long message", "the library writes behind the receive buffer");
    if (ANY_SOURCE_HIDES_TRUNCATION)
        report_skip("truncation of unexpected messages by any-source receives", "the library reports no error");
    for (int is_return = 1; is_return >= 0; is_return--) {
        if (rank == 0) printf("errors: with %s\n", is_return ? "MPI_ERRORS_RETURN" : "user error handlers");
        set_handlers(is_return, handlers);
        if (rank == 0) filler = post_fillers(comm, 1, fill_count);
        for (int at = 0; at < variants_run && rank < 2; at++) {
            if (ANY_SOURCE_HIDES_TRUNCATION && variants[at].is_unexpected && variants[at].uses_wildcards) continue;
            step = variants[at].name;
            run_variant(&variants[at]), run_blocking(&variants[at]);
        }
        step = "invalid arguments";
        if (rank < 2) run_invalid();
        step = "end";
        if (rank == 1) send_fillers(comm, 0, fill_count);
        if (rank == 0) wait_fillers(&filler), printf("errors: end:"), print_handlers();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int at = 0; at < 3; at++) MPI_Errhandler_free(&handlers[at]);
    MPI_Comm_free(&comm), MPI_Comm_free(&other_comm);
    return finish();
}
