/* Compaction (Klenk et al. 2017, §V-A): moves unmatched entries, in order, to the start of their segment. The
 * next batch starts with them. By a prefix sum over flags, with one block per segment. */

struct Compaction {
    Batch batch;         /* matched */
    unsigned *is_taken;  /* per message, filled by the kernel */
    Envelope *messages;  /* unmatched entries of each segment, at the start of the segment */
    Envelope *receives;
    WildMask *wild_masks;         /* null without wildcards */
    Segment *segments;   /* their positions */
};

/* Shared memory: a word per warp. */
extern "C" __global__ void BLOCK_OF(1024) compact(const Compaction compaction)
{
    SHARED(unsigned, sums);
    const Batch &batch = compaction.batch;
    for (unsigned index = blockIdx.x; index < batch.segment_count; index += gridDim.x) {
        const Segment segment = batch.segments[index];
        for (unsigned at = segment.message + threadIdx.x; at < segment.message_end; at += blockDim.x)
            compaction.is_taken[at] = 0;
        __syncthreads();
        unsigned receives = 0, messages = 0;
        for (unsigned base = segment.receive; base < segment.receive_end; base += blockDim.x) {
            const unsigned at = base + threadIdx.x;
            const unsigned message = at < segment.receive_end ? batch.matched[at] : NONE;
            const bool is_left = at < segment.receive_end && message == NONE;
            const unsigned place = segment.receive + place_among_kept(sums, is_left, &receives);
            if (message != NONE)
                compaction.is_taken[message] = 1;
            if (is_left) {
                compaction.receives[place] = batch.receives[at];
                if (compaction.wild_masks)
                    compaction.wild_masks[place] = batch.wild_masks[at];
            }
        }
        __syncthreads();
        for (unsigned base = segment.message; base < segment.message_end; base += blockDim.x) {
            const unsigned at = base + threadIdx.x;
            const bool is_left = at < segment.message_end && compaction.is_taken[at] == 0;
            const unsigned place = segment.message + place_among_kept(sums, is_left, &messages);
            if (is_left)
                compaction.messages[place] = batch.messages[at];
        }
        if (threadIdx.x == 0)
            compaction.segments[index] =
                Segment{segment.message, segment.message + messages, segment.receive, segment.receive + receives};
    }
}

/* The same with one warp per segment, for short segments. No shared memory. */
extern "C" __global__ void BLOCK_OF(1024) compact_by_warps(const Compaction compaction)
{
    const Batch &batch = compaction.batch;
    const unsigned warps = blockDim.x / WARP, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const unsigned below = (1u << lane) - 1;
    for (unsigned index = blockIdx.x * warps + warp; index < batch.segment_count; index += gridDim.x * warps) {
        const Segment segment = batch.segments[index];
        for (unsigned at = segment.message + lane; at < segment.message_end; at += WARP)
            compaction.is_taken[at] = 0;
        __syncwarp();
        unsigned receives = segment.receive, messages = segment.message;
        for (unsigned base = segment.receive; base < segment.receive_end; base += WARP) {
            const unsigned at = base + lane;
            const unsigned message = at < segment.receive_end ? batch.matched[at] : NONE;
            const unsigned left = __ballot_sync(ALL, at < segment.receive_end && message == NONE);
            const unsigned place = receives + __popc(left & below);
            if (message != NONE)
                compaction.is_taken[message] = 1;
            if (left >> lane & 1) {
                compaction.receives[place] = batch.receives[at];
                if (compaction.wild_masks)
                    compaction.wild_masks[place] = batch.wild_masks[at];
            }
            receives += __popc(left);
        }
        __syncwarp();
        for (unsigned base = segment.message; base < segment.message_end; base += WARP) {
            const unsigned at = base + lane;
            const unsigned left = __ballot_sync(ALL, at < segment.message_end && compaction.is_taken[at] == 0);
            if (left >> lane & 1)
                compaction.messages[messages + __popc(left & below)] = batch.messages[at];
            messages += __popc(left);
        }
        if (lane == 0)
            compaction.segments[index] = Segment{segment.message, messages, segment.receive, receives};
    }
}
