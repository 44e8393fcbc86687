/* Divides a batch for the whole card: a hash of the envelope selects one of many parts, each small enough for
 * one block of `match_ordered`. Each part keeps its order. All entries of an envelope are in one part, so
 * parts are independent. Receives with a wildcard are a separate part, the last (wild.cu).
 *
 * A counting sort by part number, low digit first. Each pass has three kernels: `count_digits`, one block per
 * tile of entries; `sum_digits`, one block per digit; `move_by_digit`, one block per tile. After the passes,
 * `find_segments` runs. */

#define DIGITS 256u
#define TILE_THREADS 256u
#define TILE_WARPS (TILE_THREADS / WARP)
/* Turns of a thread, which together fill the shared memory with a tile. */
#ifdef WIDE
#define TILE_TURNS 4u
#else
#define TILE_TURNS 16u
#endif
#define TILE (TILE_THREADS * TILE_TURNS)

static __device__ inline unsigned digit_of(unsigned part, unsigned shift)
{
    return part >> shift & (DIGITS - 1);
}

/* Messages, or receives. `from_order` is null in the first pass. */
struct Side {
    const Envelope *from;
    const unsigned *from_order;
    const WildMask *wild_masks; /* in original order; null without wildcards */
    Envelope *to;
    unsigned *to_order;
    unsigned *counts; /* [DIGITS][tiles] entries of a digit in each tile; after the sums: in the tiles before */
    unsigned *totals; /* [DIGITS] */
    unsigned count;
    unsigned tiles;
};

struct Division {
    Side messages, receives;
    unsigned long long seed;
    Segment *segments; /* of the parts, written last; one more than `parts`, for the wildcard receives */
    unsigned parts;
    unsigned shift;    /* position of the digit in the part number */
};

static __device__ inline unsigned part_at(const Division &division, const Side &side, unsigned at, const Envelope &envelope)
{
    if (side.wild_masks && is_wild(side.wild_masks[side.from_order ? side.from_order[at] : at]))
        return division.parts;
    return part_of(envelope, division.seed, division.parts);
}

/* Grid: tiles of messages, then of receives. */
static __device__ inline const Side &side_of(const Division &division, unsigned *tile)
{
    *tile = blockIdx.x < division.messages.tiles ? blockIdx.x : blockIdx.x - division.messages.tiles;
    return blockIdx.x < division.messages.tiles ? division.messages : division.receives;
}

/* Shared memory: a word per digit. */
extern "C" __global__ void BLOCK_OF(256) count_digits(const Division division)
{
    SHARED(unsigned, counts);
    unsigned tile;
    const Side &side = side_of(division, &tile);
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned turn = 0; turn < TILE_TURNS; turn++) {
        const unsigned at = tile * TILE + turn * TILE_THREADS + threadIdx.x;
        if (at < side.count)
            atomicAdd(counts + digit_of(part_at(division, side, at, side.from[at]), division.shift), 1);
    }
    __syncthreads();
    side.counts[threadIdx.x * side.tiles + tile] = counts[threadIdx.x];
}

/* Inclusive prefix sum over the threads. `sums` has a word per thread. */
static __device__ inline unsigned sum_up_to(unsigned *sums, unsigned value)
{
    sums[threadIdx.x] = value;
    __syncthreads();
    for (unsigned reach = 1; reach < blockDim.x; reach *= 2) {
        const unsigned before = threadIdx.x >= reach ? sums[threadIdx.x - reach] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    return sums[threadIdx.x];
}

/* Grid: digits of messages, then of receives. Shared memory: a word per thread. */
extern "C" __global__ void BLOCK_OF(1024) sum_digits(const Division division)
{
    SHARED(unsigned, sums);
    const Side &side = blockIdx.x < DIGITS ? division.messages : division.receives;
    const unsigned digit = blockIdx.x % DIGITS;
    unsigned *const counts = side.counts + digit * side.tiles;
    unsigned before = 0;
    for (unsigned base = 0; base < side.tiles; base += blockDim.x) {
        const unsigned tile = base + threadIdx.x;
        const unsigned count = tile < side.tiles ? counts[tile] : 0;
        const unsigned sum = sum_up_to(sums, count);
        if (tile < side.tiles)
            counts[tile] = before + sum - count;
        before += sums[blockDim.x - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        side.totals[digit] = before;
}

/* Sorts a tile by digit in shared memory, so that neighbouring threads write to neighbouring addresses.
 * Shared memory: envelopes of a tile and a word each; a word per digit and warp; two words per digit. */
extern "C" __global__ void BLOCK_OF(256) move_by_digit(const Division division)
{
    SHARED(Envelope, tile_envelopes);
    unsigned *const tile_from = (unsigned *)(tile_envelopes + TILE); /* of each entry: digit, and index in the tile before the sort */
    unsigned *const begins = tile_from + TILE;                       /* [TILE_WARPS][DIGITS], index in the tile */
    unsigned *const sums = begins + TILE_WARPS * DIGITS;
    unsigned *const places = sums + DIGITS; /* per digit: destination of its entries minus their index in the tile */
    unsigned tile;
    const Side &side = side_of(division, &tile);
    const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (unsigned at = threadIdx.x; at < TILE_WARPS * DIGITS; at += blockDim.x)
        begins[at] = 0;
    const unsigned total = side.totals[threadIdx.x];
    const unsigned begin = sum_up_to(sums, total) - total + side.counts[threadIdx.x * side.tiles + tile];
    __syncthreads();

    /* A warp has consecutive entries of the tile, 32 at a time, and numbers them within warp and digit. */
    const unsigned stretch = tile * TILE + warp * (TILE / TILE_WARPS) + lane;
    Envelope envelopes[TILE_TURNS];
    unsigned digits[TILE_TURNS], numbers[TILE_TURNS];
#pragma unroll
    for (unsigned turn = 0; turn < TILE_TURNS; turn++) {
        const unsigned at = stretch + turn * WARP;
        envelopes[turn] = at < side.count ? side.from[at] : Envelope{};
    }
#pragma unroll
    for (unsigned turn = 0; turn < TILE_TURNS; turn++) {
        const bool is_there = stretch + turn * WARP < side.count;
        digits[turn] =
            is_there ? digit_of(part_at(division, side, stretch + turn * WARP, envelopes[turn]), division.shift) : NONE;
        const unsigned same = __match_any_sync(ALL, digits[turn]), leader = __ffs(same) - 1;
        unsigned before = 0;
        if (is_there && lane == leader) {
            before = begins[warp * DIGITS + digits[turn]];
            begins[warp * DIGITS + digits[turn]] = before + __popc(same);
        }
        numbers[turn] = __shfl_sync(ALL, before, leader) + __popc(same & ((1u << lane) - 1));
        __syncwarp();
    }
    __syncthreads();
    unsigned here = 0;
    for (unsigned of_warp = 0; of_warp < TILE_WARPS; of_warp++)
        here += begins[of_warp * DIGITS + threadIdx.x];
    unsigned next = sum_up_to(sums, here) - here;
    places[threadIdx.x] = begin - next;
    for (unsigned of_warp = 0; of_warp < TILE_WARPS; of_warp++) {
        const unsigned count = begins[of_warp * DIGITS + threadIdx.x];
        begins[of_warp * DIGITS + threadIdx.x] = next;
        next += count;
    }
    __syncthreads();
#pragma unroll
    for (unsigned turn = 0; turn < TILE_TURNS; turn++) {
        const unsigned at = stretch + turn * WARP;
        if (at < side.count) {
            const unsigned within = begins[warp * DIGITS + digits[turn]] + numbers[turn];
            tile_envelopes[within] = envelopes[turn];
            tile_from[within] = digits[turn] << 16 | (at - tile * TILE);
        }
    }
    __syncthreads();
    const unsigned count = min(side.count - tile * TILE, TILE);
    for (unsigned within = threadIdx.x; within < count; within += blockDim.x) {
        const unsigned from = tile * TILE + (tile_from[within] & 0xffff);
        const unsigned place = places[tile_from[within] >> 16] + within;
        side.to[place] = tile_envelopes[within];
        side.to_order[place] = side.from_order ? side.from_order[from] : from;
    }
}

/* Start and end of each part. `from` of both sides is divided. */
extern "C" __global__ void BLOCK_OF(256) find_segments(const Division division)
{
    unsigned tile;
    const Side &side = side_of(division, &tile);
    const bool are_messages = blockIdx.x < division.messages.tiles;
    for (unsigned turn = 0; turn < TILE_TURNS; turn++) {
        const unsigned at = tile * TILE + turn * TILE_THREADS + threadIdx.x;
        if (at >= side.count)
            return;
        /* This entry is the first of its part and of the empty parts before it, if the previous entry is in
         * an earlier part. */
        const unsigned part = part_at(division, side, at, side.from[at]);
        unsigned first = at == 0 ? 0 : part_at(division, side, at - 1, side.from[at - 1]) + 1;
        const unsigned behind = at + 1 == side.count ? division.parts + 1 : part + 1;
        for (; first < behind; first++) {
            const unsigned begin = first <= part ? at : side.count;
            if (are_messages)
                division.segments[first].message = begin;
            else
                division.segments[first].receive = begin;
            if (first > 0 && are_messages)
                division.segments[first - 1].message_end = begin;
            if (first > 0 && !are_messages)
                division.segments[first - 1].receive_end = begin;
        }
        if (at + 1 == side.count && are_messages)
            division.segments[division.parts].message_end = side.count;
        if (at + 1 == side.count && !are_messages)
            division.segments[division.parts].receive_end = side.count;
    }
}
