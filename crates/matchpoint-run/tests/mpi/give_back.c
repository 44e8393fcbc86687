// Progress of queued receives during every class of blocking call.
//
//     mpiexec -n 2..4 give_back [--fill N] [--mode standard|synchronous] [--call NAME] [--file PATH] [--times]
//     give_back --list
//
// Rank 0 posts many receives and then makes the blocking call. Rank 1 sends to one of the last receives, then makes the
// same call. The send needs its receive: it is MPI_Send of 4 MiB or MPI_Ssend of 4 bytes. The program must end. Without
// options it runs every call in both modes.
#include "checks.h"

// Overflow is off in programs that import these calls under Open MPI; intercommunicator.c tests them.
#if defined(OPEN_MPI)
#define STAYS_OUT 1
#else
#define STAYS_OUT 0
#endif

enum { LARGE_INTS = 1 << 20, LAST = 10, MESSAGE_TAG = 7, CELLS = 64 };
enum { STANDARD, SYNCHRONOUS, MODES };

static int mode, *large_out, *large_in, send_cells[CELLS], receive_cells[CELLS], counts[CELLS], displacements[CELLS];
static MPI_Datatype types[CELLS];
static MPI_Comm work, graph, made;
static MPI_Win win, made_win;
static MPI_File file;
static int *window;
static MPI_Group work_group, peers;
static char path[512], *buffer;

static void call_barrier(void) { MPI_Barrier(work); }
static void call_bcast(void) { MPI_Bcast(send_cells, 4, MPI_INT, ranks - 1, work); }
static void call_reduce(void) { MPI_Reduce(send_cells, receive_cells, 4, MPI_INT, MPI_SUM, 0, work); }
static void call_allreduce(void) { MPI_Allreduce(send_cells, receive_cells, 4, MPI_INT, MPI_SUM, work); }
static void call_gather(void) { MPI_Gather(send_cells, 1, MPI_INT, receive_cells, 1, MPI_INT, 0, work); }
static void call_gatherv(void) {
    MPI_Gatherv(send_cells, 1, MPI_INT, receive_cells, counts, displacements, MPI_INT, 0, work);
}
static void call_scatter(void) { MPI_Scatter(send_cells, 1, MPI_INT, receive_cells, 1, MPI_INT, ranks - 1, work); }
static void call_scatterv(void) {
    MPI_Scatterv(send_cells, counts, displacements, MPI_INT, receive_cells, 1, MPI_INT, ranks - 1, work);
}
static void call_allgather(void) { MPI_Allgather(send_cells, 1, MPI_INT, receive_cells, 1, MPI_INT, work); }
static void call_allgatherv(void) {
    MPI_Allgatherv(send_cells, 1, MPI_INT, receive_cells, counts, displacements, MPI_INT, work);
}
static void call_alltoall(void) { MPI_Alltoall(send_cells, 1, MPI_INT, receive_cells, 1, MPI_INT, work); }
static void call_alltoallv(void) {
    MPI_Alltoallv(send_cells, counts, displacements, MPI_INT, receive_cells, counts, displacements, MPI_INT, work);
}
static void call_alltoallw(void) {
    MPI_Alltoallw(send_cells, counts, displacements, types, receive_cells, counts, displacements, types, work);
}
static void call_reduce_scatter(void) { MPI_Reduce_scatter(send_cells, receive_cells, counts, MPI_INT, MPI_SUM, work); }
static void call_reduce_scatter_block(void) {
    MPI_Reduce_scatter_block(send_cells, receive_cells, 1, MPI_INT, MPI_SUM, work);
}
static void call_scan(void) { MPI_Scan(send_cells, receive_cells, 1, MPI_INT, MPI_SUM, work); }
static void call_exscan(void) { MPI_Exscan(send_cells, receive_cells, 1, MPI_INT, MPI_SUM, work); }

// Neighbourhood collectives on a ring.
static void call_neighbor_allgather(void) {
    MPI_Neighbor_allgather(send_cells, 1, MPI_INT, receive_cells, 1, MPI_INT, graph);
}
static void call_neighbor_allgatherv(void) {
    MPI_Neighbor_allgatherv(send_cells, 1, MPI_INT, receive_cells, counts, displacements, MPI_INT, graph);
}
static void call_neighbor_alltoall(void) {
    MPI_Neighbor_alltoall(send_cells, 1, MPI_INT, receive_cells, 1, MPI_INT, graph);
}
static void call_neighbor_alltoallv(void) {
    MPI_Neighbor_alltoallv(send_cells, counts, displacements, MPI_INT, receive_cells, counts, displacements, MPI_INT,
                           graph);
}
static void call_neighbor_alltoallw(void) {
    MPI_Aint bytes[2] = {0, sizeof(int)};
    MPI_Neighbor_alltoallw(send_cells, counts, bytes, types, receive_cells, counts, bytes, types, graph);
}

// Nonblocking and persistent collectives, completed by a blocking call.
static void wait_for(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void call_ibarrier(void) {
    MPI_Request request;
    MPI_Ibarrier(work, &request), wait_for(request);
}
static void call_iallreduce(void) {
    MPI_Request request;
    MPI_Iallreduce(send_cells, receive_cells, 4, MPI_INT, MPI_SUM, work, &request), wait_for(request);
}
static void call_comm_idup(void) {
    MPI_Request request;
    MPI_Comm_idup(work, &made, &request), wait_for(request);
}
#if HAS_MPI4_CALLS
static void call_barrier_init(void) {
    MPI_Request request;
    MPI_Barrier_init(work, MPI_INFO_NULL, &request);
    MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
static void call_bcast_init(void) {
    MPI_Request request;
    MPI_Bcast_init(send_cells, 4, MPI_INT, ranks - 1, work, MPI_INFO_NULL, &request);
    MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
#endif

// Communicators.
static void call_comm_dup(void) { MPI_Comm_dup(work, &made); }
static void call_comm_dup_with_info(void) { MPI_Comm_dup_with_info(work, MPI_INFO_NULL, &made); }
static void call_comm_split(void) { MPI_Comm_split(work, rank % 2, rank, &made); }
static void call_comm_split_type(void) { MPI_Comm_split_type(work, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); }
static void call_comm_create(void) { MPI_Comm_create(work, work_group, &made); }
#if !STAYS_OUT
static void call_comm_create_group(void) { MPI_Comm_create_group(work, work_group, 3, &made); }
#endif
static void make_comm(void) { MPI_Comm_dup(work, &made); }
static void call_comm_free(void) { MPI_Comm_free(&made); }
static void call_comm_disconnect(void) { MPI_Comm_disconnect(&made); }
static void call_cart_create(void) {
    int dimension = ranks, is_periodic = 1;
    MPI_Cart_create(work, 1, &dimension, &is_periodic, 0, &made);
}
static void make_cart(void) {
    call_cart_create();
    graph = made;
}
static void free_graph(void) { MPI_Comm_free(&graph), made = MPI_COMM_NULL; }
static void call_cart_sub(void) {
    int remains = 1;
    MPI_Cart_sub(graph, &remains, &made);
}
static void free_sub(void) { MPI_Comm_free(&made), MPI_Comm_free(&graph); }
static void call_graph_create(void) {
    int index[CELLS], edges[CELLS];
    for (int at = 0; at < ranks; at++) index[at] = at + 1, edges[at] = (at + 1) % ranks;
    MPI_Graph_create(work, ranks, index, edges, 0, &made);
}
static void call_dist_graph_create(void) {
    int degree = 1, weight = 1;
    MPI_Dist_graph_create(work, 1, &rank, &degree, &right, &weight, MPI_INFO_NULL, 0, &made);
}
static void call_dist_graph_create_adjacent(void) {
    int weight = 1;
    MPI_Dist_graph_create_adjacent(work, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0, &made);
}
#if !STAYS_OUT
static MPI_Comm half;
static void make_half(void) { MPI_Comm_split(work, rank % 2, rank, &half); }
static void call_intercomm_create(void) { MPI_Intercomm_create(half, 0, work, 1 - rank % 2, 5, &made); }
static void free_intercomm(void) { MPI_Comm_free(&made), MPI_Comm_free(&half); }
static void make_intercomm(void) { make_half(), MPI_Intercomm_create(half, 0, work, 1 - rank % 2, 5, &graph); }
static void call_intercomm_merge(void) { MPI_Intercomm_merge(graph, rank % 2, &made); }
static void free_merged(void) { MPI_Comm_free(&made), MPI_Comm_free(&graph), MPI_Comm_free(&half); }
static void call_inter_barrier(void) { MPI_Barrier(graph); }
static void free_inter(void) { MPI_Comm_free(&graph), MPI_Comm_free(&half), made = MPI_COMM_NULL; }
#endif

// One-sided communication.
static void make_window(void) {
    MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, work, &window, &win);
    MPI_Win_fence(0, win);
}
static void free_window(void) { MPI_Win_free(&win); }
static void put(int to) { MPI_Put(send_cells, 1, MPI_INT, to, rank, 1, MPI_INT, win); }
static void call_win_create(void) { MPI_Win_create(receive_cells, CELLS, 1, MPI_INFO_NULL, work, &made_win); }
static void call_win_allocate(void) { MPI_Win_allocate(CELLS, 1, MPI_INFO_NULL, work, &window, &made_win); }
static void call_win_allocate_shared(void) { MPI_Win_allocate_shared(CELLS, 1, MPI_INFO_NULL, work, &window, &made_win); }
static void call_win_create_dynamic(void) { MPI_Win_create_dynamic(MPI_INFO_NULL, work, &made_win); }
static void free_made_window(void) { MPI_Win_free(&made_win); }
static void make_window_to_free(void) { MPI_Win_allocate(CELLS, 1, MPI_INFO_NULL, work, &window, &made_win); }
static void call_win_fence(void) { put(right), MPI_Win_fence(0, win); }
static void call_win_lock(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    put(0);
    MPI_Win_unlock(0, win);
}
static void call_win_lock_all(void) {
    MPI_Win_lock_all(0, win);
    put(right), MPI_Win_flush(right, win);
    put(left), MPI_Win_flush_all(win);
    put(left), MPI_Win_flush_local(left, win), MPI_Win_flush_local_all(win);
    MPI_Win_unlock_all(win);
}
// Rank 0 exposes its window before its receives are posted, and waits in MPI_Win_wait for rank 1.
static void make_exposed_window(void) {
    make_window();
    if (rank == 0) MPI_Win_post(peers, 0, win);
}
static void call_win_wait(void) {
    if (rank == 0) MPI_Win_wait(win);
    if (rank == 1) MPI_Win_start(peers, 0, win), put(0), MPI_Win_complete(win);
}
// Rank 0 accesses the window that rank 1 exposes after its send.
static void call_win_complete(void) {
    if (rank == 0) MPI_Win_start(peers, 0, win), put(1), MPI_Win_complete(win);
    if (rank == 1) MPI_Win_post(peers, 0, win), MPI_Win_wait(win);
}

// Files.
static void open_file(MPI_File *handle) {
    MPI_File_open(work, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, handle);
}
static void make_file(void) { open_file(&file); }
static void close_file(void) { MPI_File_close(&file); }
static void call_write_all(void) {
    MPI_File_set_view(file, 4 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, send_cells, 1, MPI_INT, MPI_STATUS_IGNORE);
}
static void call_write_at_all(void) {
    MPI_File_write_at_all(file, 4 * rank, send_cells, 1, MPI_INT, MPI_STATUS_IGNORE);
}
static void make_written_file(void) {
    make_file();
    MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
}
static void call_read_all(void) {
    receive_cells[0] = -1;
    MPI_File_read_all(file, receive_cells, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(receive_cells[0] == 0, "MPI_File_read_all read %d", receive_cells[0]);
}
static void call_read_at_all(void) {
    receive_cells[0] = -1;
    MPI_File_read_at_all(file, 4 * rank, receive_cells, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(receive_cells[0] == rank, "MPI_File_read_at_all read %d", receive_cells[0]);
}
static void call_write_ordered(void) { MPI_File_write_ordered(file, send_cells, 1, MPI_INT, MPI_STATUS_IGNORE); }
static void call_file_sync(void) { MPI_File_sync(file); }
static void call_file_set_size(void) { MPI_File_set_size(file, 4 * CELLS); }

// MPI_Buffer_detach on rank 0 waits until rank 1, after its send, has received the buffered message.
static void attach_and_send(void) {
    int room = LARGE_INTS * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    if (rank > 0) return;
    MPI_Buffer_attach(buffer, room);
    MPI_Bsend(large_out, LARGE_INTS, MPI_INT, 1, 8, work);
}
static void call_buffer_detach(void) {
    void *detached;
    int size;
    if (rank == 0) MPI_Buffer_detach(&detached, &size);
    if (rank == 1) MPI_Recv(buffer, LARGE_INTS, MPI_INT, 0, 8, work, MPI_STATUS_IGNORE);
}

static void nothing(void) { made = MPI_COMM_NULL; }
static void free_made(void) {
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

// The blocking call, what is made before the receives are posted, and what is freed after all messages have arrived.
typedef struct call {
    const char *name;
    void (*prepare)(void), (*run)(void), (*clean)(void);
} call_t;

static const call_t calls[] = {
    {"Barrier", nothing, call_barrier, nothing},
    {"Bcast", nothing, call_bcast, nothing},
    {"Reduce", nothing, call_reduce, nothing},
    {"Allreduce", nothing, call_allreduce, nothing},
    {"Gather", nothing, call_gather, nothing},
    {"Gatherv", nothing, call_gatherv, nothing},
    {"Scatter", nothing, call_scatter, nothing},
    {"Scatterv", nothing, call_scatterv, nothing},
    {"Allgather", nothing, call_allgather, nothing},
    {"Allgatherv", nothing, call_allgatherv, nothing},
    {"Alltoall", nothing, call_alltoall, nothing},
    {"Alltoallv", nothing, call_alltoallv, nothing},
    {"Alltoallw", nothing, call_alltoallw, nothing},
    {"Reduce_scatter", nothing, call_reduce_scatter, nothing},
    {"Reduce_scatter_block", nothing, call_reduce_scatter_block, nothing},
    {"Scan", nothing, call_scan, nothing},
    {"Exscan", nothing, call_exscan, nothing},
    {"Neighbor_allgather", make_cart, call_neighbor_allgather, free_graph},
    {"Neighbor_allgatherv", make_cart, call_neighbor_allgatherv, free_graph},
    {"Neighbor_alltoall", make_cart, call_neighbor_alltoall, free_graph},
    {"Neighbor_alltoallv", make_cart, call_neighbor_alltoallv, free_graph},
    {"Neighbor_alltoallw", make_cart, call_neighbor_alltoallw, free_graph},
    {"Ibarrier", nothing, call_ibarrier, nothing},
    {"Iallreduce", nothing, call_iallreduce, nothing},
    {"Comm_idup", nothing, call_comm_idup, free_made},
#if HAS_MPI4_CALLS
    {"Barrier_init", nothing, call_barrier_init, nothing},
    {"Bcast_init", nothing, call_bcast_init, nothing},
#endif
    {"Comm_dup", nothing, call_comm_dup, free_made},
    {"Comm_dup_with_info", nothing, call_comm_dup_with_info, free_made},
    {"Comm_split", nothing, call_comm_split, free_made},
    {"Comm_split_type", nothing, call_comm_split_type, free_made},
    {"Comm_create", nothing, call_comm_create, free_made},
#if !STAYS_OUT
    {"Comm_create_group", nothing, call_comm_create_group, free_made},
#endif
    {"Comm_free", make_comm, call_comm_free, nothing},
    {"Comm_disconnect", make_comm, call_comm_disconnect, nothing},
    {"Cart_create", nothing, call_cart_create, free_made},
    {"Cart_sub", make_cart, call_cart_sub, free_sub},
    {"Graph_create", nothing, call_graph_create, free_made},
    {"Dist_graph_create", nothing, call_dist_graph_create, free_made},
    {"Dist_graph_create_adjacent", nothing, call_dist_graph_create_adjacent, free_made},
#if !STAYS_OUT
    {"Intercomm_create", make_half, call_intercomm_create, free_intercomm},
    {"Intercomm_merge", make_intercomm, call_intercomm_merge, free_merged},
    {"Barrier_of_intercommunicator", make_intercomm, call_inter_barrier, free_inter},
#endif
    {"Win_create", nothing, call_win_create, free_made_window},
    {"Win_allocate", nothing, call_win_allocate, free_made_window},
    {"Win_allocate_shared", nothing, call_win_allocate_shared, free_made_window},
    {"Win_create_dynamic", nothing, call_win_create_dynamic, free_made_window},
    {"Win_free", make_window_to_free, free_made_window, nothing},
    {"Win_fence", make_window, call_win_fence, free_window},
    {"Win_lock", make_window, call_win_lock, free_window},
    {"Win_lock_all", make_window, call_win_lock_all, free_window},
    {"Win_wait", make_exposed_window, call_win_wait, free_window},
    {"Win_complete", make_window, call_win_complete, free_window},
    {"File_open", nothing, make_file, close_file},
    {"File_write_all", make_file, call_write_all, close_file},
    {"File_write_at_all", make_file, call_write_at_all, close_file},
    {"File_read_all", make_written_file, call_read_all, close_file},
    {"File_read_at_all", make_written_file, call_read_at_all, close_file},
    {"File_write_ordered", make_file, call_write_ordered, close_file},
    {"File_sync", make_file, call_file_sync, close_file},
    {"File_set_size", make_file, call_file_set_size, close_file},
    {"File_close", make_file, close_file, nothing},
    {"Buffer_detach", attach_and_send, call_buffer_detach, nothing},
};
enum { CALLS = sizeof calls / sizeof *calls };

// MPICH 5.0 makes no progress on other messages in MPI_Intercomm_create, with or without queued receives.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000 && !defined(I_MPI_VERSION)
static const char *const call_without_progress = "Intercomm_create";
#else
static const char *const call_without_progress = "";
#endif

static int message_ints(void) { return mode == STANDARD ? LARGE_INTS : 1; }

// The receives after the filling ones. The message is for the one before the last.
static void post_last(MPI_Request *requests) {
    static int small[LAST];
    for (int at = 0; at < LAST; at++) {
        int is_target = at == LAST - 2;
        MPI_Irecv(is_target ? large_in : &small[at], is_target ? message_ints() : 1, MPI_INT,
                  at % 2 ? MPI_ANY_SOURCE : 1, is_target ? MESSAGE_TAG : 100 + at, MPI_COMM_WORLD, &requests[at]);
    }
}

static void send_message(void) {
    fill_payload(large_out, message_ints(), 1, MESSAGE_TAG);
    if (mode == STANDARD)
        MPI_Send(large_out, message_ints(), MPI_INT, 0, MESSAGE_TAG, MPI_COMM_WORLD);
    else
        MPI_Ssend(large_out, message_ints(), MPI_INT, 0, MESSAGE_TAG, MPI_COMM_WORLD);
}

static void send_last(void) {
    for (int at = 0; at < LAST; at++) {
        if (at != LAST - 2) MPI_Send(&at, 1, MPI_INT, 0, 100 + at, MPI_COMM_WORLD);
    }
    send_fillers(MPI_COMM_WORLD, 0, fill_count);
}

static void run_call(const call_t *call) {
    filler_t filler = {0};
    MPI_Request requests[LAST];
    call->prepare();
    if (rank == 0) filler = post_fillers(MPI_COMM_WORLD, 1, fill_count), post_last(requests);
    if (rank == 0) memset(large_in, 0, LARGE_INTS * sizeof(int));
    MPI_Barrier(work);
    if (rank == 1) send_message();
    call->run();
    if (rank == 0) {
        MPI_Status status;
        MPI_Wait(&requests[LAST - 2], &status);
        CHECK_STATUS(&status, 1, MESSAGE_TAG, message_ints() * (int)sizeof(int));
        CHECK(has_payload(large_in, message_ints(), 1, MESSAGE_TAG), "%s: the message has wrong data", call->name);
    }
    if (rank == 1) send_last();
    if (rank == 0) MPI_Waitall(LAST, requests, MPI_STATUSES_IGNORE), wait_fillers(&filler);
    call->clean();
}

static void prepare_cells(void) {
    for (int at = 0; at < CELLS; at++) {
        send_cells[at] = rank * CELLS + at, counts[at] = 1, displacements[at] = at, types[at] = MPI_INT;
    }
}

// A file name that all ranks use.
static void choose_path(const char *given) {
    const char *folder = getenv("TMPDIR");
    if (given)
        snprintf(path, sizeof path, "%s", given);
    else
        snprintf(path, sizeof path, "%s/give_back-%d", folder ? folder : "/tmp", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    static const char *const names[MODES] = {"standard", "synchronous"};
    const char *only_mode = option_text(argc, argv, "--mode"), *only_call = option_text(argc, argv, "--call");
    if (has_flag(argc, argv, "--list")) {
        for (int at = 0; at < CALLS; at++) printf("%s\n", calls[at].name);
        return 0;
    }
    begin(&argc, &argv, "give_back");
    MPI_Comm_dup(MPI_COMM_WORLD, &work);
    MPI_Comm_group(work, &work_group);
    int peer = 1 - rank;
    if (rank < 2) MPI_Group_incl(work_group, 1, &peer, &peers);
    large_out = allocate(LARGE_INTS * sizeof(int)), large_in = allocate(LARGE_INTS * sizeof(int));
    buffer = allocate(LARGE_INTS * sizeof(int) + MPI_BSEND_OVERHEAD);
    choose_path(option_text(argc, argv, "--file"));
    prepare_cells();
    int runs = 0;
    for (mode = 0; mode < MODES; mode++) {
        if (only_mode && strcmp(only_mode, names[mode]) != 0) continue;
        for (int at = 0; at < CALLS; at++) {
            if (only_call && strcmp(only_call, calls[at].name) != 0) continue;
            if (strcmp(calls[at].name, call_without_progress) == 0) {
                report_skip(calls[at].name, "the library makes no progress on other messages in this call");
                continue;
            }
            double start = MPI_Wtime();
            step = calls[at].name;
            run_call(&calls[at]), runs++;
            if (rank == 0 && has_flag(argc, argv, "--times"))
                printf("give_back: %s %s %.3f s\n", names[mode], step, MPI_Wtime() - start), fflush(stdout);
        }
    }
    CHECK(runs > 0 || (only_call && strcmp(only_call, call_without_progress) == 0), "no call or mode of this name");
    if (rank < 2) MPI_Group_free(&peers);
    MPI_Group_free(&work_group), MPI_Comm_free(&work);
    free(large_out), free(large_in), free(buffer);
    return finish();
}
