/* The clock: a processor counter if it is steady, because two readings are most of the cost of a recorded call. The
 * including file declares `hot_state.ticks_source`, an `enum ticks_source`. */

enum ticks_source { TICKS_MONOTONIC, TICKS_TSC, TICKS_CNTVCT };

static inline int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>

/* Linux removes the counter from its clocks if the counters of processors differ. Returns true if unknown. */
static bool kernel_takes_tsc(void)
{
    char clocks[256] = "";
    int descriptor = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return true;
    ssize_t length = read(descriptor, clocks, sizeof clocks - 1);
    close(descriptor);
    return length <= 0 || strstr(clocks, "tsc") != NULL;
}

/* The counter has a constant rate, also during sleep (Intel SDM 18.17.1, AMD APM 13.2.4). */
static void ticks_choose(void)
{
    unsigned a, b, c, d;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) && kernel_takes_tsc())
        hot_state.ticks_source = TICKS_TSC;
}

static inline uint64_t ticks(void)
{
    return __builtin_expect(hot_state.ticks_source == TICKS_TSC, 1) ? __rdtsc() : (uint64_t)monotonic_ns();
}
#elif defined(__aarch64__)
static void ticks_choose(void)
{
    hot_state.ticks_source = TICKS_CNTVCT;
}

static inline uint64_t ticks(void)
{
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#else
static void ticks_choose(void)
{
}

static inline uint64_t ticks(void)
{
    return (uint64_t)monotonic_ns();
}
#endif

struct clock_pair {
    uint64_t ticks;
    int64_t ns;
};

/* Reads both clocks at one moment. Of several attempts the shortest counts, because the thread may be interrupted. */
static struct clock_pair clock_pair(void)
{
    struct clock_pair best = {0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int attempt = 0; attempt < 5; attempt++) {
        uint64_t before = ticks();
        int64_t ns = monotonic_ns();
        uint64_t after = ticks();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct clock_pair){before + (after - before) / 2, ns};
        }
    }
    return best;
}
