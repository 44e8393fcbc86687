/* Uses of MPI that are difficult for a recorder. The first argument selects the use. Each rank prints its number of sends
 * and receives. A failed check ends the program with exit code 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define SESSIONS
#endif

static int rank, ranks, sends, receives;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "rank %d: not so: %s\n", rank, what);
    exit(1);
}

static void send_to(int to, int count, int tag, MPI_Comm comm)
{
    int out[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    check(MPI_Send(out, count, MPI_INT, to, tag, comm) == MPI_SUCCESS, "a send succeeds");
    sends++;
}

/* A recorder must not read beyond the end of this array. */
static int *guarded(int count)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    return (int *)(pages + 4096) - count;
}

/* One process is in the local group, all others are in the remote group. Counts have one entry per remote process. */
static void between_groups(void)
{
    MPI_Comm half, inter;
    int there;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &inter);
    MPI_Comm_remote_size(inter, &there);
    int *counts = guarded(there), *places = guarded(there), out[8] = {0}, in[8];
    for (int i = 0; i < there; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, inter);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Errors on a communicator with MPI_ERRORS_RETURN. Errors on MPI_COMM_WORLD remain fatal. */
static void fail(MPI_Comm comm)
{
    int in;
    check(MPI_Send(&in, 1, MPI_DATATYPE_NULL, 0, 0, comm) != MPI_SUCCESS, "no type");
    for (int i = 0; i < 3; i++)
        check(MPI_Send(&in, 1, MPI_INT, 99, 1, comm) != MPI_SUCCESS, "no rank");
    check(MPI_Send(&in, -1, MPI_INT, 0, 1, comm) != MPI_SUCCESS, "no count");
    check(MPI_Recv(&in, -1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS, "no count to receive");
}

/* Receives with too long messages, completed by every completion function. After each comes a receive without an error,
 * which may have the same handle. */
static void truncate_messages(MPI_Comm comm)
{
    int in[4], index, flag, count, indices[2], error;
    MPI_Request requests[2];
    for (int way = 0; way < 6; way++) {
        if (rank == 0) {
            MPI_Barrier(comm);
            send_to(1, 4, 10 + 2 * way, comm);
            if (way == 4) /* The second message arrives much later. */
                usleep(100000);
            send_to(1, 4, 11 + 2 * way, comm);
            continue;
        }
        if (rank > 1) {
            MPI_Barrier(comm);
            continue;
        }
        MPI_Irecv(in, 1, MPI_INT, 0, 10 + 2 * way, comm, &requests[0]);
        requests[1] = MPI_REQUEST_NULL;
        if (way == 4)
            MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 11 + 2 * way, comm, &requests[1]);
        MPI_Barrier(comm);
        error = MPI_SUCCESS;
        flag = 0;
        switch (way) {
        case 0: error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE); break;
        case 1: error = MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE); break;
        case 2:
            while (error == MPI_SUCCESS && !flag)
                error = MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);
            break;
        case 3: error = MPI_Waitsome(1, requests, &count, indices, MPI_STATUSES_IGNORE); break;
        case 4:
            error = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#ifdef OPEN_MPI /* Open MPI leaves pending requests without a status. */
            if (requests[1] != MPI_REQUEST_NULL)
                MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
#else
            check(requests[1] == MPI_REQUEST_NULL, "who ignores statuses waits for all");
#endif
            break;
        case 5: /* Some libraries leave the request pending. */
            while (error == MPI_SUCCESS && !flag)
                error = MPI_Testall(1, requests, &flag, MPI_STATUSES_IGNORE);
            if (requests[0] != MPI_REQUEST_NULL)
                MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            break;
        }
        check(error != MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL, "the message is too long");
        receives += 2;
        if (way == 4)
            continue;
        MPI_Status status;
        MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 11 + 2 * way, comm, &requests[0]);
        MPI_Wait(&requests[0], &status);
        check(status.MPI_TAG == 11 + 2 * way, "the next one");
    }
}

static jmp_buf before_error;

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(before_error, 1);
}

static void leave_by_a_jump(MPI_Comm comm)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    if (setjmp(before_error) == 0)
        send_to(99, 1, 1, comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < 10; i++)
        send_to(MPI_PROC_NULL, 1, 7, comm);
}

/* Gives the descriptor of the trace file to another file, as a program that closes all descriptors may do. */
static int close_the_trace(const char *results)
{
    char path[64], target[4096];
    for (int number = 3; number < 1024; number++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", number);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        if (length > 0 && strstr(target, ".mpt") != NULL) {
            int own = open(results, O_CREAT | O_TRUNC | O_RDWR, 0666);
            dup2(own, number);
            close(own);
            return number;
        }
    }
    return open(results, O_CREAT | O_TRUNC | O_RDWR, 0666);
}

static MPI_Comm at_the_end;

/* MPI_Finalize calls this function (MPI-4.1 §11.2.4). */
static int deleted(MPI_Comm comm, int key, void *value, void *more)
{
    (void)comm, (void)key, (void)value, (void)more;
    for (int i = 0, in; i < 5; i++) {
        if (rank == 0)
            send_to(1, 1, 100 + i, at_the_end);
        if (rank == 1)
            receives += MPI_Recv(&in, 1, MPI_INT, 0, 100 + i, at_the_end, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
    return MPI_Comm_free(&at_the_end);
}

static void fork_and_use_pipes(void)
{
    int ends[8][2], status;
    for (int i = 0; i < 8; i++)
        check(pipe(ends[i]) == 0, "a pipe");
    pid_t child = fork();
    if (child == 0) {
        char byte;
        for (int i = 0; i < 8; i++)
            if (write(ends[i][1], "x", 1) != 1 || read(ends[i][0], &byte, 1) != 1)
                _exit(1);
        _exit(0);
    }
    waitpid(child, &status, 0);
    check(status == 0, "a child's pipes are open");
}

static void many(const char *results)
{
    MPI_Comm comm;
    int key, number = -1;
    char content[16] = "";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &at_the_end);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    between_groups();
    fail(comm);
    /* The library may report errors of completions at either communicator. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    truncate_messages(comm);
    leave_by_a_jump(comm);
    if (rank == 0) {
        number = close_the_trace(results);
        check(write(number, "results", 7) == 7, "results are written");
    }
    MPI_Finalize();
    if (rank == 0)
        check(pread(number, content, sizeof content, 0) == 7 && strcmp(content, "results") == 0, "results are as they were");
    fork_and_use_pipes();
    printf("rank %d: %d sends, %d receives\n", rank, sends, receives);
}

static void *poll_forever(void *comm)
{
    for (int flag;;)
        MPI_Iprobe(0, 1, *(MPI_Comm *)comm, &flag, MPI_STATUS_IGNORE);
    return NULL;
}

static void leave_while_threads_call(int aborts)
{
    static MPI_Comm comm;
    pthread_t thread;
    comm = MPI_COMM_SELF;
    for (int i = 0; i < 5; i++)
        pthread_create(&thread, NULL, poll_forever, &comm);
    usleep(100000);
    if (aborts)
        MPI_Abort(MPI_COMM_WORLD, 0);
    exit(0);
}

static void abort_in_handler(MPI_Comm *comm, int *error, ...)
{
    (void)error;
    MPI_Abort(*comm, 3);
}

static int free_communicator(MPI_Win window, int key, void *communicator, void *extra)
{
    (void)window, (void)key, (void)extra;
    return MPI_Comm_free(communicator);
}

/* A callback frees communicators within another MPI call, and their memory is reused. The program then continues until
 * the recorder has asked for the lengths of the queues. */
static void free_within_calls(void)
{
    enum { COMMUNICATORS = 8, PIECES = 4000 };
    MPI_Comm communicators[COMMUNICATORS];
    MPI_Win windows[COMMUNICATORS];
    int key, memory[16], flag;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, free_communicator, &key, NULL);
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
        MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]);
        MPI_Win_set_attr(windows[i], key, &communicators[i]);
    }
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Win_free(&windows[i]);
    for (int i = 0; i < PIECES; i++) {
        size_t size = 64 + (size_t)i * 37 % 2000;
        memset(malloc(size), 0x5a, size);
    }
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 2.5;)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static volatile sig_atomic_t writing_is_slow;

/* Replaces the function with which the recorder writes. The file system is slow. */
ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    ssize_t (*real)(int, const struct iovec *, int) = dlsym(RTLD_NEXT, "writev");
    struct timespec left = {writing_is_slow ? 2 : 0, 0};
    while (left.tv_sec + left.tv_nsec > 0 && nanosleep(&left, &left) != 0)
        ;
    return real(descriptor, parts, count);
}

static void leave(int signal)
{
    exit(signal == SIGALRM ? 3 : 4);
}

/* A signal, such as that of a batch system, arrives while the recorder writes the end of the trace. */
static void leave_while_all_is_written(void)
{
    struct itimerval soon = {.it_value = {.tv_usec = 300000}};
    int flag;
    for (int i = 0; i < 1000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    signal(SIGALRM, leave);
    writing_is_slow = 1;
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* A failing MPI call with more requests than a record in the ring can contain. */
static void fail_with_many_requests(void)
{
    enum { REQUESTS = 140000 };
    MPI_Request *requests = malloc(REQUESTS * sizeof *requests);
    int flag;
    for (int i = 0; i < REQUESTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Startall(REQUESTS, requests);
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    free(requests);
    usleep(300000); /* The writing thread of the recorder reads the record. */
}

#ifdef SESSIONS
static pthread_barrier_t together;
static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;

static MPI_Comm session_comm(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void *open_session(void *tag)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    pthread_barrier_wait(&together);
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    MPI_Info_free(&info);
    // Open MPI 5.0 hangs if several sessions are created at once, with and without a recorder.
    pthread_mutex_lock(&one_by_one);
    MPI_Comm comm = session_comm(session, tag);
    pthread_mutex_unlock(&one_by_one);
    for (int i = 0, out = 0; i < 10; i++)
        MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, i, comm);
    MPI_Comm_free(&comm);
    pthread_barrier_wait(&together);
    check(MPI_Session_finalize(&session) == MPI_SUCCESS, "a session ends");
    return NULL;
}

static void sessions_at_once(void)
{
    pthread_t threads[3];
    pthread_barrier_init(&together, NULL, 3);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, open_session, (char *[]){"one", "two", "three"}[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void session_outlives_finalize(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Comm comm = session_comm(session, "it");
    MPI_Finalize();
    for (int i = 0; i < 5; i++)
        send_to(MPI_PROC_NULL, 1, i, comm);
    MPI_Comm_free(&comm);
    check(MPI_Session_finalize(&session) == MPI_SUCCESS, "the session ends");
}
#endif

/* A write beyond the file size limit ends the process by SIGXFSZ, unless the signal is handled. */
static void limit_the_size_of_files(void)
{
    struct rlimit limit = {5200, 5200};
    int flag, buffer = 0;
    check(setrlimit(RLIMIT_FSIZE, &limit) == 0, "a limit of the size of files");
    for (int tag = 0; tag < 6000; tag++)
        MPI_Iprobe(MPI_ANY_SOURCE, (tag * 7919) % 30000, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Send(&buffer, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level, out;
#ifdef SESSIONS
    if (strcmp(what, "sessions") == 0) {
        sessions_at_once();
        return 0;
    }
#endif
    MPI_Init_thread(&argc, &argv, strcmp(what, "exit") == 0 || strcmp(what, "abort") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(what, "many") == 0) {
        many(argv[2]);
        return 0;
    }
    if (strcmp(what, "exit") == 0 || strcmp(what, "abort") == 0)
        leave_while_threads_call(strcmp(what, "abort") == 0);
    if (strcmp(what, "abort-in-handler") == 0) {
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(abort_in_handler, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        for (int i = 0; i < 1000; i++)
            send_to(MPI_PROC_NULL, 1, 7, MPI_COMM_WORLD);
        MPI_Send(&out, 1, MPI_INT, 99, 7, MPI_COMM_WORLD);
    }
#ifdef SESSIONS
    if (strcmp(what, "outlives") == 0) {
        session_outlives_finalize();
        return 0;
    }
#endif
    if (strcmp(what, "file") == 0) {
        MPI_File file;
        check(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS, "a file");
        MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    if (strcmp(what, "callbacks") == 0)
        free_within_calls();
    if (strcmp(what, "signal") == 0)
        leave_while_all_is_written();
    if (strcmp(what, "requests") == 0)
        fail_with_many_requests();
    if (strcmp(what, "collective") == 0) {
        int all[16] = {0};
        out = rank + 1;
        MPI_Allgather(&out, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < ranks; i++)
            check(all[i] == i + 1, "what is gathered is what was sent");
    }
    if (strcmp(what, "size-limit") == 0)
        limit_the_size_of_files();
    if (strcmp(what, "preload") == 0)
        printf("preloaded: %s\n", getenv("LD_PRELOAD"));
    if (strcmp(what, "sends") == 0)
        for (int i = 0; i < 10; i++)
            send_to(MPI_PROC_NULL, 1, i, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
