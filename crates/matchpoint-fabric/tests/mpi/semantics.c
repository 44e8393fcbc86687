// Checks of MPI's message semantics, for any MPI library and 2 ranks or more.
//
//     mpiexec -n 8 semantics [--effort N] [--seed N] [--only SECTION]… [--threads] [--spawn]
//              [--truncate 0|1|2] [--list]
//
// Exits with 0 if all checks pass. Rank 0 prints the sections, every rank prints its failures. --threads requests
// MPI_THREAD_MULTIPLE and runs only that section. --spawn starts two more processes and exchanges messages with them.
#include "checks.h"

#include <time.h>

const char *section = "start";
int rank, ranks, effort = 1, failures, truncates = 1;
uint64_t seed = 1;

void wrong(const char *form, ...) {
    if (failures++ >= 10) return;
    char text[512];
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(text, sizeof text, form, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %d: %s: %s\n", rank, section, text);
    fflush(stderr);
}

random_t random_of(uint64_t a, uint64_t b, uint64_t c) {
    random_t random = {seed * 0x9E3779B97F4A7C15u ^ a * 0xBF58476D1CE4E5B9u ^ b * 0x94D049BB133111EBu ^ (c + 1) << 17};
    if (random.state == 0) random.state = 1;
    for (int i = 0; i < 4; i++) next_random(&random);
    return random;
}

uint64_t next_random(random_t *random) {
    uint64_t x = random->state;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    random->state = x;
    return x * 0x2545F4914F6CDD1Du;
}

int random_below(random_t *random, int below) { return (int)(next_random(random) >> 33) % below; }

static unsigned char byte_at(header_t header, int at) {
    uint32_t mixed = header.source * 31 + header.stream * 17 + header.tag * 7 + header.number * 13 + (uint32_t)at * 5;
    return (unsigned char)(mixed ^ mixed >> 8 ^ mixed >> 16);
}

void fill(char *message, int bytes, header_t header) {
    int told = bytes < (int)sizeof header ? bytes : (int)sizeof header;
    if (told > 0) memcpy(message, &header, (size_t)told);
    for (int at = told; at < bytes; at++) message[at] = (char)byte_at(header, at);
}

int is_filled(const char *message, int bytes, header_t header) {
    int told = bytes < (int)sizeof header ? bytes : (int)sizeof header;
    if (told > 0 && memcmp(message, &header, (size_t)told) != 0) return 0;
    for (int at = told; at < bytes; at++) {
        if ((unsigned char)message[at] != byte_at(header, at)) return 0;
    }
    return 1;
}

void *memory(size_t bytes) {
    void *got = malloc(bytes ? bytes : 1);
    if (!got) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return got;
}

void check_status(const MPI_Status *status, int source, int tag, int bytes) {
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes,
          "status tells source %d, tag %d, %d bytes; sent was source %d, tag %d, %d bytes", status->MPI_SOURCE,
          status->MPI_TAG, count, source, tag, bytes);
}

void pause_ms(int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int partner(void) {
    int other = rank ^ 1;
    return other < ranks ? other : -1;
}

static const section_t sections[] = {
    {"sizes", sizes},
    {"modes", modes},
    {"probes", probes},
    {"truncation", truncation},
    {"cancelling", cancelling},
    {"selves", selves},
    {"persistent", persistent},
    {"partitioned", partitioned},
    {"derived", derived},
    {"bottom", bottom},
    {"waits", waits},
    {"storm_expected", storm_expected},
    {"storm_unexpected", storm_unexpected},
    {"storm_mixed", storm_mixed},
    {"storm_probed", storm_probed},
    {"communicators", communicators},
    {"intercommunicators", intercommunicators},
    {"collectives", collectives},
    {"windows_fence", windows_fence},
    {"windows_lock", windows_lock},
    {"outstanding", outstanding},
    {"reverse", reverse},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

// Ends a section on all ranks and sums up its failures.
static int end_of(const char *name, double began) {
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%-20s %s %.1f s\n", name, all ? "WRONG" : "right", MPI_Wtime() - began);
        fflush(stdout);
    }
    failures = 0;
    return all;
}

static int is_asked_for(const char *name, int argc, char **argv) {
    int any = 0;
    for (int at = 1; at + 1 < argc; at++) {
        if (strcmp(argv[at], "--only") != 0) continue;
        any = 1;
        if (strcmp(argv[at + 1], name) == 0) return 1;
    }
    return !any;
}

static int has(const char *option, int argc, char **argv) {
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], option) == 0) return at;
    }
    return 0;
}

static int number_of(const char *option, int argc, char **argv, int otherwise) {
    int at = has(option, argc, argv);
    return at && at + 1 < argc ? atoi(argv[at + 1]) : otherwise;
}

static int run(const char *name, void (*what)(void)) {
    double began = MPI_Wtime();
    section = name;
    what();
    return end_of(name, began);
}

static const char *program;
static void spawn_section(void) { spawning(program); }

int main(int argc, char **argv) {
    if (has("--list", argc, argv)) {
        for (int at = 0; at < SECTIONS; at++) puts(sections[at].name);
        return 0;
    }
    int with_threads = has("--threads", argc, argv), level, wrongs = 0;
    MPI_Init_thread(&argc, &argv, with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    effort = number_of("--effort", argc, argv, 1);
    seed = (uint64_t)number_of("--seed", argc, argv, 1);
    truncates = number_of("--truncate", argc, argv, 1);
    program = argv[0];
    if (has("--spawned", argc, argv)) {
        section = "spawned";
        spawned();
        wrongs = failures;
    } else if (with_threads && level < MPI_THREAD_MULTIPLE) {
        if (rank == 0) puts("left out: the MPI has no MPI_THREAD_MULTIPLE");
    } else if (with_threads) {
        wrongs = run("threads", threads);
    } else if (has("--spawn", argc, argv)) {
        wrongs = run("spawning", spawn_section);
    } else {
        for (int at = 0; at < SECTIONS; at++) {
            if (is_asked_for(sections[at].name, argc, argv)) wrongs += run(sections[at].name, sections[at].run);
        }
        if (rank == 0) printf("%s\n", wrongs ? "WRONG" : "all right");
    }
    MPI_Finalize();
    return wrongs != 0;
}
