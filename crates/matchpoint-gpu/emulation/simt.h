/* CUDA C++ for a host, as far as the kernels use it. The threads of a block run as coroutines, one block
 * after the other. A thread continues from a vote, a shuffle or a barrier when all participants have arrived.
 * Between these, threads run in random order, so that a missing barrier causes a failure.
 *
 * The emulation tests the kernels' logic. It does not model time or memory orders weaker than the host's. */
#pragma once

#define __global__
#define __device__
#define BLOCK_OF(threads)
#define PAUSE()
#define SHARED(type, name) type *name = reinterpret_cast<type *>(simt::shared)

namespace simt {

struct Index {
    unsigned x;
};

/* Of the running thread. */
extern Index thread_index, block_index, block_dim, grid_dim;
/* Of the running block. Filled with arbitrary bytes before the start. */
extern unsigned char *shared;

/* Votes, shuffles, barriers and atomic operations of all threads so far: a measure of work that does not
 * depend on the host. */
extern unsigned long long steps;

enum Meeting { BALLOT, SHUFFLE, MATCH_ANY, WARP_BARRIER, TEAM_BARRIER, BLOCK_BARRIER };

/* Waits for all participants and returns the combined result of their values. */
unsigned meet(Meeting meeting, unsigned mask, unsigned value, unsigned lane);

using Body = void (*)(const void *arguments);

/* Runs blocks with `threads` threads, a multiple of 32. Returns false after a deadlock. */
bool launch(unsigned blocks, unsigned threads, unsigned shared_bytes, unsigned long long seed, Body body, const void *arguments);

} // namespace simt

#define threadIdx simt::thread_index
#define blockIdx simt::block_index
#define blockDim simt::block_dim
#define gridDim simt::grid_dim

static inline unsigned __ballot_sync(unsigned mask, bool vote)
{
    return simt::meet(simt::BALLOT, mask, vote, 0);
}

static inline unsigned __shfl_sync(unsigned mask, unsigned value, unsigned lane)
{
    return simt::meet(simt::SHUFFLE, mask, value, lane);
}

static inline unsigned __match_any_sync(unsigned mask, unsigned value)
{
    return simt::meet(simt::MATCH_ANY, mask, value, 0);
}

static inline void __syncwarp()
{
    simt::meet(simt::WARP_BARRIER, 0xffffffffu, 0, 0);
}

static inline void __syncthreads()
{
    simt::meet(simt::BLOCK_BARRIER, 0, 0, 0);
}

static inline bool __syncthreads_or(bool value)
{
    return simt::meet(simt::BLOCK_BARRIER, 0, value, 0) != 0;
}

/* Barrier of a team of `threads` threads. `team` is its number in the block. */
static inline void meet_team(unsigned team, unsigned threads)
{
    (void)team;
    simt::meet(simt::TEAM_BARRIER, 0, threads, 0);
}

static inline unsigned __ffs(unsigned bits)
{
    return static_cast<unsigned>(__builtin_ffs(static_cast<int>(bits)));
}

static inline unsigned __popc(unsigned bits)
{
    return static_cast<unsigned>(__builtin_popcount(bits));
}

static inline unsigned min(unsigned one, unsigned other)
{
    return one < other ? one : other;
}

static inline unsigned max(unsigned one, unsigned other)
{
    return one < other ? other : one;
}

/* Accesses to words shared with a host, whole and in order. */
static inline unsigned long long load_acquire(const unsigned long long *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline unsigned load_acquire(const unsigned *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void store_release(unsigned long long *at, unsigned long long word)
{
    __atomic_store_n(at, word, __ATOMIC_RELEASE);
}

static inline void store_release(unsigned *at, unsigned word)
{
    __atomic_store_n(at, word, __ATOMIC_RELEASE);
}

/* `sum` plus the products of four byte pairs. */
static inline unsigned __dp4a(unsigned one, unsigned other, unsigned sum)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        sum += (one >> shift & 0xff) * (other >> shift & 0xff);
    return sum;
}

static inline unsigned __umulhi(unsigned one, unsigned other)
{
    return static_cast<unsigned>(static_cast<unsigned long long>(one) * other >> 32);
}

/* One thread runs at a time and switches only at a vote, shuffle or barrier. */
static inline unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value)
{
    simt::steps++;
    const unsigned was = *at;
    if (was == expected)
        *at = value;
    return was;
}

static inline unsigned atomicExch(unsigned *at, unsigned value)
{
    simt::steps++;
    const unsigned was = *at;
    *at = value;
    return was;
}

static inline unsigned atomicAdd(unsigned *at, unsigned value)
{
    return atomicExch(at, *at + value);
}

static inline unsigned atomicMin(unsigned *at, unsigned value)
{
    return atomicExch(at, min(*at, value));
}
