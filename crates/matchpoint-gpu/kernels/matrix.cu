/* `gpu_matrix`: all of MPI's order, and wildcards (Klenk et al. 2017, §V, algorithms 1 and 2). A block for each segment.
 *
 * Scan: each thread has messages, and each warp votes for one receive after the other: a word of the vote matrix has a bit
 * for each of 32 messages. Reduce: one warp goes through the receives in the order of posting, each lane having one word of
 * the column; the first message that is left in the first word that has any goes to the receive. The two overlap: while one
 * window of receives is reduced, the next is scanned, and the one after that fetched. Queues of fewer than 64 entries are for
 * one warp alone, as in the paper: partitioned.cu.
 *
 * More messages than a block votes on at a time are taken in turns, the oldest first. That is the same matching: every
 * receive prefers those of an earlier turn. */

#define WINDOW 64u
/* Words of votes that a warp that scans has: 32 messages each. One load of a receive serves all of them. */
#define WORDS 4u
/* A column has a word for each lane of the warp that reduces; one more keeps columns apart in the banks. */
#define COLUMN (WARP + 1)

/* Three of these in shared memory: one is reduced, one scanned, one fetched. */
struct Window {
    Posted posted[WINDOW];
    unsigned votes[WINDOW * COLUMN];
    unsigned is_left[WINDOW];
    unsigned got[WINDOW + WARP]; /* of the messages that are voted on; behind the window is for what lanes write in vain */
};

/* Votes of one warp on a window of receives. `present` has a bit for each lane that has a message. */
static __device__ inline void scan(Window *window, const Envelope *own, const unsigned *present, unsigned warp, unsigned lane)
{
    for (unsigned half = 0; half < WINDOW; half += WARP) {
        unsigned column[WORDS] = {};
#pragma unroll 8
        for (unsigned at = 0; at < WARP; at++) {
            const Posted posted = window->posted[half + at];
#pragma unroll
            for (unsigned word = 0; word < WORDS; word++) {
                const unsigned ballot = __ballot_sync(ALL, accepts(posted.envelope, posted.open, own[word]));
                if (lane == at)
                    column[word] = ballot;
            }
        }
        const bool is_left = window->is_left[half + lane];
        for (unsigned word = 0; word < WORDS; word++)
            window->votes[(half + lane) * COLUMN + warp * WORDS + word] = is_left ? column[word] & present[word] : 0;
    }
}

/* Gives the receives of a window their messages, in order. `left`: of the messages of word `lane`, those that nobody has. */
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
            /* No branch: a receive waits for the one before it, and for nothing else. */
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

/* A block of 64 threads at least. */
extern "C" __global__ void BLOCK_OF(1024) match_matrix(const Batch batch)
{
    SHARED(Window, windows);
    const unsigned warps = blockDim.x / WARP, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    /* A column has no more words than a warp has lanes. */
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
            unsigned left = ALL; /* the reducer's: of the messages of word `lane`, those that nobody has */
            /* A turn fetches a window (asks for it at the beginning, and puts it down at the end), scans the one before, and
             * reduces the one before that. Receives that have a message already do not take part, nor windows of such. */
            const unsigned windows_here = (segment.receive_end - segment.receive + WINDOW - 1) / WINDOW;
            bool is_scanned = false, is_reduced = false;
            for (unsigned turn = 0; turn < windows_here + 2; turn++) {
                const unsigned fetched = segment.receive + turn * WINDOW + threadIdx.x;
                const bool fetches = threadIdx.x < WINDOW && fetched < segment.receive_end;
                const bool is_left = fetches && (is_first || batch.matched[fetched] == NONE);
                Posted posted = {};
                if (is_left)
                    posted = Posted{batch.receives[fetched], batch.opens ? batch.opens[fetched] : Open{}};
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
