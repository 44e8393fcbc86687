/* `gpu_partitioned`: the matrix without any-source receives (Klenk et al. 2017, §VI-A). Each segment has the
 * messages and receives of some sources, in order, and one warp. A vote is therefore a whole column, and no
 * warp waits for another. More messages than a warp has lanes are taken in turns, the oldest first. */

/* The receives of a warp, one per lane in `posted`, take messages, one per lane, in order. `left`: remaining
 * messages; all lanes have this value, so only the vote waits for the vote. `open`: receives that take part.
 * Returns the message of the lane's receive as a bit, or 0. */
static __device__ inline unsigned take(const Posted *posted, const Envelope &own, unsigned open, unsigned *left, unsigned lane)
{
    unsigned taken = 0;
#pragma unroll
    for (unsigned at = 0; at < WARP; at++) {
        const Posted one = posted[at];
        const unsigned votes = __ballot_sync(ALL, accepts(one.envelope, one.wild_mask, own));
        const unsigned bids = (open >> at & 1) ? votes & *left : 0;
        const unsigned first = bids & (0 - bids);
        *left ^= first;
        if (lane == at)
            taken = first;
    }
    return taken;
}

/* Shared memory: a receive per thread. */
extern "C" __global__ void BLOCK_OF(1024) match_partitioned(const Batch batch)
{
    SHARED(Posted, all_posted);
    const unsigned warps = blockDim.x / WARP, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    Posted *const posted = all_posted + warp * WARP;
    for (unsigned index = blockIdx.x * warps + warp; index < batch.segment_count; index += gridDim.x * warps) {
        const Segment segment = batch.segments[index];
        for (unsigned base = segment.message;; base += WARP) {
            const bool is_first = base == segment.message;
            const bool has_message = base + lane < segment.message_end;
            const Envelope own = has_message ? batch.messages[base + lane] : Envelope{};
            unsigned left = __ballot_sync(ALL, has_message);
            /* The first turn always completes, because it marks all receives as unmatched. */
            for (unsigned first = segment.receive; first < segment.receive_end && (is_first || left != 0); first += WARP) {
                const unsigned receive = first + lane;
                /* A lane reads and writes only its own elements of `matched`. */
                const bool is_open = receive < segment.receive_end && (is_first || batch.matched[receive] == NONE);
                const unsigned open = __ballot_sync(ALL, is_open);
                if (is_open)
                    posted[lane] = Posted{batch.receives[receive], batch.wild_masks ? batch.wild_masks[receive] : WildMask{}};
                __syncwarp();
                const unsigned taken = take(posted, own, open, &left, lane);
                if (is_open && (is_first || taken != 0))
                    batch.matched[receive] = taken == 0 ? NONE : base + __ffs(taken) - 1;
                __syncwarp();
            }
            if (base + WARP >= segment.message_end)
                break;
        }
    }
}
