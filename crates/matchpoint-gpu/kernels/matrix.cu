/* `gpu_matrix`: MPI's order with wildcards (Klenk et al. 2017, §V, algorithms 1 and 2). One block per
 * segment.
 *
 * Scan: each thread has messages, and each warp votes on one receive after the other. A word of the vote
 * matrix has a bit for each of 32 messages. Reduce: one warp handles the receives in posted order; each lane
 * has one word of the column. The receive gets the first remaining message of the first nonempty word. Scan
 * and reduce overlap: the block reduces one window of receives, scans the next, and fetches the one after.
 * Queues with fewer than 64 entries use one warp, as in the paper: partitioned.cu.
 *
 * A block votes on a limited number of messages per turn, the oldest first. The result is the same, because
 * every receive prefers messages of an earlier turn. */

#define WINDOW 64u
/* Vote words of a scanning warp, 32 messages each. One load of a receive serves all words. */
#define WORDS 4u
/* A column has a word per lane of the reducing warp. One more word avoids bank conflicts between columns. */
#define COLUMN (WARP + 1)

/* Three windows in shared memory: one is reduced, one scanned, one fetched. */
struct Window {
    Posted posted[WINDOW];
    unsigned votes[WINDOW * COLUMN];
    unsigned is_left[WINDOW];
    unsigned got[WINDOW + WARP]; /* message index; entries after the window receive unneeded writes of lanes */
};

/* Votes of one warp on a window of receives. `present` has a bit per lane with a message. */
static __device__ inline void scan(Window *window, const Envelope *own, const unsigned *present, unsigned warp, unsigned lane)
{
    for (unsigned half = 0; half < WINDOW; half += WARP) {
        unsigned column[WORDS] = {};
#pragma unroll 8
        for (unsigned at = 0; at < WARP; at++) {
            const Posted posted = window->posted[half + at];
#pragma unroll
            for (unsigned word = 0; word < WORDS; word++) {
                const unsigned ballot = __ballot_sync(ALL, accepts(posted.envelope, posted.wild_mask, own[word]));
                if (lane == at)
                    column[word] = ballot;
            }
        }
        const bool is_left = window->is_left[half + lane];
        for (unsigned word = 0; word < WORDS; word++)
            window->votes[(half + lane) * COLUMN + warp * WORDS + word] = is_left ? column[word] & present[word] : 0;
    }
}

/* Assigns messages to the receives of a window, in order. `left`: remaining messages of word `lane`. */
static __device__ inline unsigned reduce(Window *window, unsigned words, unsigned left, unsigned lane)
{
    const unsigned below = (1u << lane) - 1;
    for (unsigned at = lane; at < WINDOW; at += WARP)
        window->got[at] = NONE;
    __syncwarp();
    for (unsigned group = 0; group < WINDOW; group += 8) {
        unsigned column[8];
#pragma unroll
        for (unsigned at = 0; at < 8; at++)
            column[at] = lane < words ? window->votes[(group + at) * COLUMN + lane] : 0;
#pragma unroll
        for (unsigned at = 0; at < 8; at++) {
            /* No branch: a receive waits only for the receive before it. */
            const unsigned votes = column[at] & left, first = votes & (0 - votes);
            const unsigned bidders = __ballot_sync(ALL, votes != 0);
            const bool wins = votes != 0 && (bidders & below) == 0;
            left ^= wins ? first : 0;
            window->got[wins ? group + at : WINDOW + lane] = lane * WARP + __ffs(first) - 1;
        }
    }
    __syncwarp();
    return left;
}

/* At least 64 threads per block. */
extern "C" __global__ void BLOCK_OF(1024) match_matrix(const Batch batch)
{
    SHARED(Window, windows);
    const unsigned warps = blockDim.x / WARP, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    /* A column has at most as many words as a warp has lanes. */
    const unsigned scanners = min(warps - 1, WARP / WORDS), reducer = warps - 1;
    const unsigned messages_at_once = scanners * WORDS * WARP;

    for (unsigned index = blockIdx.x; index < batch.segment_count; index += gridDim.x) {
        const Segment segment = batch.segments[index];
        for (unsigned base = segment.message;; base += messages_at_once) {
            const bool is_first = base == segment.message;
            Envelope own[WORDS] = {};
            unsigned present[WORDS];
            for (unsigned word = 0; word < WORDS; word++) {
                const unsigned at = base + (warp * WORDS + word) * WARP + lane;
                const bool is_there = warp < scanners && at < segment.message_end;
                if (is_there)
                    own[word] = batch.messages[at];
                present[word] = __ballot_sync(ALL, is_there);
            }
            unsigned left = ALL; /* in the reducer: remaining messages of word `lane` */
            /* A turn fetches a window (loads at its start, stores at its end), scans the window before, and
             * reduces the window before that. Matched receives, and windows with only matched receives, take
             * no part. */
            const unsigned windows_here = (segment.receive_end - segment.receive + WINDOW - 1) / WINDOW;
            bool is_scanned = false, is_reduced = false;
            for (unsigned turn = 0; turn < windows_here + 2; turn++) {
                const unsigned fetched = segment.receive + turn * WINDOW + threadIdx.x;
                const bool fetches = threadIdx.x < WINDOW && fetched < segment.receive_end;
                const bool is_left = fetches && (is_first || batch.matched[fetched] == NONE);
                Posted posted = {};
                if (is_left)
                    posted = Posted{batch.receives[fetched], batch.wild_masks ? batch.wild_masks[fetched] : WildMask{}};
                if (warp < scanners && is_scanned)
                    scan(windows + (turn - 1) % 3, own, present, warp, lane);
                if (warp == reducer && is_reduced) {
                    Window *const window = windows + (turn - 2) % 3;
                    left = reduce(window, scanners * WORDS, left, lane);
                    for (unsigned at = lane; at < WINDOW; at += WARP) {
                        const unsigned receive = segment.receive + (turn - 2) * WINDOW + at, got = window->got[at];
                        if (got != NONE || (is_first && receive < segment.receive_end))
                            batch.matched[receive] = got == NONE ? NONE : base + got;
                    }
                }
                if (threadIdx.x < WINDOW) {
                    windows[turn % 3].posted[threadIdx.x] = posted;
                    windows[turn % 3].is_left[threadIdx.x] = is_left;
                }
                is_reduced = is_scanned;
                is_scanned = __syncthreads_or(is_left);
            }
            if (base + messages_at_once >= segment.message_end)
                break;
        }
    }
}
