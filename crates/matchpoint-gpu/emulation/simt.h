/* The words of CUDA C++ that the kernels use, for a host: the threads of a block run as coroutines, one block after the
 * other, and go on from a vote, a shuffle or a barrier when all have come there whom it waits for. Between these, the
 * order in which threads run is drawn at random: what needs an order and did not ask for one is found out.
 *
 * It is for testing the kernels' logic. It tells nothing of time, nor of memory orders weaker than the host's. */
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

/* Of the thread that runs. */
extern Index thread_index, block_index, block_dim, grid_dim;
/* Of the block that runs; filled with rubbish before it begins. */
extern unsigned char *shared;

/* Votes, shuffles, barriers and atomic operations of all threads so far: what work grows like, whatever a host needs for it. */
extern unsigned long long steps;

enum Meeting { BALLOT, SHUFFLE, MATCH_ANY, WARP_BARRIER, TEAM_BARRIER, BLOCK_BARRIER };

/* Waits for all that take part, and gives what they make of their values. */
unsigned meet(Meeting meeting, unsigned mask, unsigned value, unsigned lane);

using Body = void (*)(const void *arguments);

/* Runs blocks of so many threads, a multiple of 32. False if threads wait for others that never come. */
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

/* Of so many threads that stand together, a block's teams being numbered. */
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

/* Words that a host shares with a kernel, whole and in order. */
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

/* The sum of the products of four bytes each, and of `sum`. */
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

/* One thread runs at a time, and is interrupted only where it meets others. */
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
