#include "simt.h"

#include <csetjmp>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace simt {

Index thread_index, block_index, block_dim, grid_dim;
unsigned char *shared;
unsigned long long steps;

namespace {

constexpr unsigned LANES = 32;
constexpr size_t STACK_BYTES = 32 << 10;

enum State { READY, WAITING, ENDED };

struct Thread {
    ucontext_t beginning;
    bool has_begun;
    jmp_buf point; /* where the thread waits */
    State state;
    Meeting meeting;
    unsigned mask, value, lane, result;
};

std::vector<Thread> threads;
/* Stacks of the threads, reused by all launches: their allocation took most of the time of a small launch. */
std::vector<std::unique_ptr<unsigned char[]>> stacks;
unsigned current;
jmp_buf scheduler;
Body body;
const void *arguments;
unsigned long long random_state;

/* SplitMix64. */
unsigned draw(unsigned below)
{
    unsigned long long mixed = random_state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return static_cast<unsigned>((mixed ^ (mixed >> 31)) % below);
}

void run_thread()
{
    body(arguments);
    threads[current].state = ENDED;
    _longjmp(scheduler, 1);
}

/* Runs a thread until it waits or ends. A thread starts on its stack with a context; later switches are
 * jumps, because swapping contexts needs two system calls. */
void resume(Thread &thread)
{
    if (_setjmp(scheduler) != 0)
        return;
    if (thread.has_begun)
        _longjmp(thread.point, 1);
    thread.has_begun = true;
    setcontext(&thread.beginning);
}

/* Returns true if all lanes that `thread` waits for have arrived, and gives each its result. */
bool finish_meeting(unsigned thread)
{
    const unsigned first = thread / LANES * LANES;
    const Thread &one = threads[thread];
    for (unsigned lane = 0; lane < LANES; lane++) {
        const Thread &other = threads[first + lane];
        if ((one.mask >> lane & 1) && (other.state != WAITING || other.meeting != one.meeting || other.mask != one.mask))
            return false;
    }
    unsigned results[LANES] = {};
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned other = 0; other < LANES; other++) {
            if (!(one.mask >> lane & 1) || !(one.mask >> other & 1))
                continue;
            const Thread &own = threads[first + lane], &others = threads[first + other];
            if (one.meeting == BALLOT)
                results[lane] |= static_cast<unsigned>(others.value != 0) << other;
            else if (one.meeting == MATCH_ANY)
                results[lane] |= static_cast<unsigned>(others.value == own.value) << other;
            else if (one.meeting == SHUFFLE && own.lane % LANES == other)
                results[lane] = others.value;
        }
    const unsigned mask = one.mask;
    for (unsigned lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1) {
            threads[first + lane].result = results[lane];
            threads[first + lane].state = READY;
        }
    return true;
}

/* Returns true if the whole team of `thread` has arrived at its barrier, and releases the team. The team size
 * is the value of each thread. */
bool finish_team(unsigned thread)
{
    const unsigned size = threads[thread].value, first = thread / size * size;
    for (unsigned other = first; other < first + size; other++)
        if (threads[other].state != WAITING || threads[other].meeting != TEAM_BARRIER || threads[other].value != size)
            return false;
    for (unsigned other = first; other < first + size; other++)
        threads[other].state = READY;
    return true;
}

/* Returns true if all running threads have arrived at the barrier, and releases them. Each gets whether any
 * value was nonzero. */
bool finish_barrier()
{
    for (const Thread &thread : threads)
        if (thread.state == READY || (thread.state == WAITING && thread.meeting != BLOCK_BARRIER))
            return false;
    unsigned any = 0;
    for (const Thread &thread : threads)
        if (thread.state == WAITING)
            any |= thread.value;
    for (Thread &thread : threads)
        if (thread.state == WAITING) {
            thread.state = READY;
            thread.result = any;
        }
    return true;
}

bool run_block()
{
    for (unsigned thread = 0; thread < threads.size(); thread++) {
        Thread &one = threads[thread];
        one.state = READY;
        one.has_begun = false;
        getcontext(&one.beginning);
        one.beginning.uc_stack.ss_sp = stacks[thread].get();
        one.beginning.uc_stack.ss_size = STACK_BYTES;
        makecontext(&one.beginning, run_thread, 0);
    }
    std::vector<unsigned> ready;
    for (;;) {
        /* Random warps are delayed, so that other warps get far ahead. */
        for (unsigned first = 0; first < threads.size(); first += LANES) {
            const bool is_held_back = draw(2) == 0;
            for (unsigned thread = first; thread < first + LANES; thread++)
                if (threads[thread].state == READY && !is_held_back)
                    ready.push_back(thread);
        }
        while (!ready.empty()) {
            std::swap(ready[draw(static_cast<unsigned>(ready.size()))], ready.back());
            current = ready.back();
            ready.pop_back();
            thread_index.x = current;
            resume(threads[current]);
        }
        bool goes_on = false, any_waits = false;
        for (unsigned thread = 0; thread < threads.size(); thread++) {
            goes_on |= threads[thread].state == READY;
            any_waits |= threads[thread].state != ENDED;
            if (threads[thread].state == WAITING && threads[thread].meeting == TEAM_BARRIER)
                goes_on |= finish_team(thread);
            else if (threads[thread].state == WAITING && threads[thread].meeting != BLOCK_BARRIER)
                goes_on |= finish_meeting(thread);
        }
        if (!any_waits)
            return true;
        if (!goes_on && !finish_barrier())
            return false;
    }
}

} // namespace

unsigned meet(Meeting meeting, unsigned mask, unsigned value, unsigned lane)
{
    steps++;
    const unsigned own = current;
    Thread &thread = threads[own];
    thread.meeting = meeting;
    thread.mask = mask;
    thread.value = value;
    thread.lane = lane;
    thread.state = WAITING;
    if (_setjmp(thread.point) == 0)
        _longjmp(scheduler, 1);
    return threads[own].result;
}

bool launch(unsigned blocks, unsigned count, unsigned shared_bytes, unsigned long long seed, Body kernel, const void *given)
{
    threads = std::vector<Thread>(count);
    while (stacks.size() < count)
        stacks.emplace_back(new unsigned char[STACK_BYTES]);
    body = kernel;
    arguments = given;
    random_state = seed;
    block_dim.x = count;
    grid_dim.x = blocks;
    std::unique_ptr<unsigned char[]> memory(new unsigned char[shared_bytes + 1]);
    shared = memory.get();
    for (block_index.x = 0; block_index.x < blocks; block_index.x++) {
        std::memset(shared, 0xa5, shared_bytes);
        if (!run_block())
            return false;
    }
    return true;
}

} // namespace simt
