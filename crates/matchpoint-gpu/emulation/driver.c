/* A fake driver of CUDA 12.0 and a fake NVRTC of 12.9 that run nothing. Tests query the calls and make any of
 * them fail. A persistent kernel is a thread that marks each batch as matched and ends at the stop flag. A
 * call that would wait for it forever, or free its memory, ends the process.
 *
 * Preloaded, and found as libcuda.so and libnvrtc.so. A lookup of a function that is missing here gets a
 * failing function, unless CUDA 12.0 does not have this function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_SUPPORTED = 801, NOT_READY = 600, UNSUPPORTED_PTX_VERSION = 222 };

static void impossible(const char *what)
{
    fprintf(stderr, "played driver: %s\n", what);
    abort();
}

/* Calls by name: their number and their result. */
static struct Call {
    char name[64];
    int count, failure;
} calls[64];
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

static struct Call *call_of(const char *name)
{
    for (struct Call *call = calls; call < calls + 64; call++) {
        if (!call->name[0])
            strncpy(call->name, name, sizeof call->name - 1);
        if (!strcmp(call->name, name))
            return call;
    }
    impossible("too many names");
    return NULL;
}

static int called(const char *name)
{
    pthread_mutex_lock(&calls_lock);
    struct Call *const call = call_of(name);
    call->count++;
    const int failure = call->failure;
    pthread_mutex_unlock(&calls_lock);
    return failure;
}

/* Number of calls of a function. */
int played_calls(const char *name)
{
    pthread_mutex_lock(&calls_lock);
    const int count = call_of(name)->count;
    pthread_mutex_unlock(&calls_lock);
    return count;
}

/* Sets the result of later calls of a function, or of later launches of a kernel. 0 means success. */
void played_failure(const char *name, int failure)
{
    pthread_mutex_lock(&calls_lock);
    call_of(name)->failure = failure;
    pthread_mutex_unlock(&calls_lock);
}

#define CALLED \
    do { \
        const int failure = called(__func__); \
        if (failure) \
            return failure; \
    } while (0)

/* Persistent kernels ignore batches while this is true. */
static atomic_bool sleeps;
/* Error that ends persistent kernels. Every later call for their stream returns it. */
static atomic_int fault;
static atomic_int staying;
/* The card reports that the driver ends long-running kernels. */
static atomic_bool watches;
/* Submitting kernels run forever and submit nothing. */
static atomic_bool feeds_never;
/* The compiler blocks while this is true. */
static atomic_bool never_compiles;

void played_sleep(int is_asleep)
{
    sleeps = is_asleep;
}

void played_watchdog(int is_there)
{
    watches = is_there;
}

void played_feeder(int never)
{
    feeds_never = never;
}

void played_compiler(int never)
{
    never_compiles = never;
}

void played_fault(int code)
{
    fault = code;
}

/* Number of running persistent kernels. */
int played_staying(void)
{
    return staying;
}

int cuInit(unsigned flags)
{
    (void)flags;
    /* For a program without access to these functions: PLAYED_FAILURE=NAME:ERROR. */
    const char *const given = getenv("PLAYED_FAILURE"), *const code = given ? strchr(given, ':') : NULL;
    char name[64];
    if (code && (size_t)(code - given) < sizeof name) {
        memcpy(name, given, (size_t)(code - given));
        name[code - given] = 0;
        played_failure(name, atoi(code + 1));
    }
    CALLED;
    return SUCCESS;
}

int cuDriverGetVersion(int *version)
{
    *version = 12000;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "PLAYED_ERROR_%d", error);
    *name = text;
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text)
{
    (void)error;
    *text = "as the test asked";
    return SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    CALLED;
    switch (attribute) {
    case 16: /* multiprocessors */
        *value = 2;
        break;
    case 17: /* whether the driver ends long-running kernels */
        *value = watches;
        break;
    case 75: /* compute capability */
        *value = 9;
        break;
    case 76:
        *value = 0;
        break;
    case 97: /* shared memory of a block */
        *value = 227 << 10;
        break;
    default:
        *value = 1;
    }
    return SUCCESS;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "a played card");
    return SUCCESS;
}

int cuMemGetInfo_v2(size_t *left, size_t *all)
{
    *left = *all = (size_t)1 << 30;
    return SUCCESS;
}

static int the_context;
static _Thread_local void *current;

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &the_context;
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return SUCCESS;
}

int cuCtxGetCurrent(void **context)
{
    *context = current;
    return SUCCESS;
}

int cuCtxSetCurrent(void *context)
{
    current = context;
    return SUCCESS;
}

struct Stream {
    atomic_bool is_busy;
    const char *memory; /* of the persistent kernel */
};

int cuStreamCreate(struct Stream **stream, unsigned flags)
{
    (void)flags;
    CALLED;
    *stream = calloc(1, sizeof **stream);
    return SUCCESS;
}

int cuStreamDestroy_v2(struct Stream *stream)
{
    if (!stream->is_busy)
        free(stream);
    return SUCCESS;
}

int cuStreamQuery(struct Stream *stream)
{
    CALLED;
    return stream->is_busy ? NOT_READY : fault;
}

int cuStreamSynchronize(struct Stream *stream)
{
    CALLED;
    /* Another block may be about to stop the kernel. */
    for (int turn = 0; stream->is_busy; turn++) {
        if (turn > 5000)
            impossible("a call waits for a persistent kernel");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return fault;
}

struct Event {
    struct Stream *stream;
};

int cuEventCreate(struct Event **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return SUCCESS;
}

int cuEventDestroy_v2(struct Event *event)
{
    free(event);
    return SUCCESS;
}

int cuEventRecord(struct Event *event, struct Stream *stream)
{
    CALLED;
    event->stream = stream;
    return SUCCESS;
}

int cuEventQuery(struct Event *event)
{
    return cuStreamQuery(event->stream);
}

int cuEventSynchronize(struct Event *event)
{
    return cuStreamSynchronize(event->stream);
}

int cuEventElapsedTime(float *milliseconds, struct Event *begin, struct Event *end)
{
    (void)begin;
    (void)end;
    *milliseconds = 1;
    return SUCCESS;
}

int cuMemAllocAsync(void **memory, size_t bytes, struct Stream *stream)
{
    (void)stream;
    CALLED;
    *memory = malloc(bytes);
    return SUCCESS;
}

int cuMemFreeAsync(void *memory, struct Stream *stream)
{
    /* In stream order: the memory of a kernel without an end is never freed. */
    if (!stream->is_busy)
        free(memory);
    return SUCCESS;
}

int cuMemsetD8Async(void *memory, unsigned char value, size_t bytes, struct Stream *stream)
{
    (void)stream;
    memset(memory, value, bytes);
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, struct Stream *stream)
{
    if (stream->is_busy)
        impossible("a copy follows a persistent kernel");
    memcpy(to, from, bytes);
    return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, struct Stream *stream)
{
    return cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}

/* `Resident` of kernels/resident.cu, as far as needed. */
struct Resident {
    const char *messages;
    void *receives, *opens, *counts, *pairs;
    atomic_uint *pair_counts;
    atomic_ullong *fed;
    atomic_uint *done;
};

/* A persistent kernel, if it has a stream. */
static struct Staying {
    struct Resident resident;
    struct Stream *_Atomic stream;
} kernels[8];

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    CALLED;
    *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    return SUCCESS;
}

int cuMemFreeHost(void *memory)
{
    CALLED;
    for (const struct Staying *kernel = kernels; kernel < kernels + 8; kernel++)
        if (kernel->stream && memory == kernel->resident.messages)
            impossible("memory is given back that a kernel reads");
    free(memory);
    return SUCCESS;
}

int cuModuleLoadData(void **module, const void *image)
{
    CALLED;
    /* PTX of a newer CUDA. */
    if (memcmp(image, "\x7f"
                      "ELF",
               4))
        return UNSUPPORTED_PTX_VERSION;
    *module = &the_context;
    return SUCCESS;
}

int cuModuleUnload(void *module)
{
    (void)module;
    return SUCCESS;
}

int cuModuleGetFunction(char **function, void *module, const char *name)
{
    (void)module;
    *function = strdup(name);
    return SUCCESS;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return SUCCESS;
}

static void *stay(void *given)
{
    struct Staying *const kernel = given;
    for (unsigned turn = 0; !fault;) {
        const unsigned long long fed = atomic_load(kernel->resident.fed);
        if (sleeps) {
            sched_yield();
        } else if ((unsigned)fed != turn) {
            kernel->resident.pair_counts[turn % 8] = 0;
            *kernel->resident.done = ++turn;
        } else if (fed >> 32) {
            break;
        }
        sched_yield();
    }
    struct Stream *const stream = kernel->stream;
    kernel->stream = NULL;
    staying--;
    stream->is_busy = false;
    return NULL;
}

int cuLaunchKernel(const char *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                   unsigned threads_z, unsigned shared, struct Stream *stream, void **arguments, void **extra)
{
    (void)x, (void)y, (void)z, (void)threads_x, (void)threads_y, (void)threads_z, (void)shared, (void)extra;
    CALLED;
    const int failure = called(function);
    if (!failure && !strcmp(function, "feed_resident"))
        stream->is_busy = feeds_never;
    if (failure || strcmp(function, "match_resident"))
        return failure;
    struct Staying *kernel = kernels;
    while (kernel->stream)
        if (++kernel == kernels + 8)
            impossible("too many kernels stay");
    kernel->resident = *(struct Resident *)arguments[0];
    kernel->stream = stream;
    stream->is_busy = true;
    staying++;
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay, kernel) || pthread_detach(thread))
        impossible("no thread");
    return SUCCESS;
}

int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 9;
    return SUCCESS;
}

const char *nvrtcGetErrorString(int error)
{
    (void)error;
    return "as the test asked";
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names)
{
    (void)source, (void)name, (void)headers, (void)texts, (void)names;
    *program = &the_context;
    return SUCCESS;
}

int nvrtcDestroyProgram(void **program)
{
    (void)program;
    return SUCCESS;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
    (void)program, (void)count, (void)options;
    CALLED;
    while (never_compiles)
        sched_yield();
    return SUCCESS;
}

int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return SUCCESS;
}

int nvrtcGetProgramLog(void *program, char *log)
{
    (void)program;
    *log = 0;
    return SUCCESS;
}

static const char PTX[] = ".version 8.8";
static const char CUBIN[] = "\x7f"
                            "ELF";

int nvrtcGetPTXSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof PTX;
    return SUCCESS;
}

int nvrtcGetPTX(void *program, char *text)
{
    (void)program;
    memcpy(text, PTX, sizeof PTX);
    return SUCCESS;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof CUBIN;
    return SUCCESS;
}

int nvrtcGetCUBIN(void *program, char *text)
{
    (void)program;
    memcpy(text, CUBIN, sizeof CUBIN);
    return SUCCESS;
}

static int not_played(void)
{
    return NOT_SUPPORTED;
}

typedef void *(*Find)(void *, const char *);

static Find system_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (int at = 0; at < 3; at++) {
        void *const found = dlvsym(RTLD_NEXT, "dlsym", versions[at]);
        if (found)
            return (Find)(uintptr_t)found;
    }
    impossible("no dlsym");
    return NULL;
}

/* Functions of CUDA 12.1 or later. */
static bool is_newer(const char *name)
{
    static const char *const begins[] = {"cuLogs", "cuCoredump", "cuGreenCtx", "cuMulticast", "cuCtxSetFlags"};
    for (int at = 0; at < 5; at++)
        if (!strncmp(name, begins[at], strlen(begins[at])))
            return true;
    return false;
}

void *dlsym(void *handle, const char *name)
{
    static _Atomic(Find) known;
    if (!known)
        known = system_dlsym();
    void *const found = known(handle, name);
    const bool is_ours = (!strncmp(name, "cu", 2) && name[2] >= 'A' && name[2] <= 'Z') || !strncmp(name, "nvrtc", 5);
    if (found || !is_ours || is_newer(name))
        return found;
    dlerror();
    return (void *)(uintptr_t)not_played;
}
