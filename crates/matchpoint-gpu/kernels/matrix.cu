/* `gpu_matrix`: all of MPI's order, and wildcards (Klenk et al. 2017, §V, algorithms 1 and 2).
 *
 * Scan: each thread has a message, and each warp votes for one receive after the other: a word of the vote matrix has a bit
 * for each message of a warp. Reduce: one warp goes through the receives in the order of posting, each lane having the word
 * of one warp; the first message that is left in the first word that has any goes to the receive. The two overlap: while
 * one window of receives is reduced, the next is scanned.
 *
 * More messages than a block has threads are taken in turns, the oldest first. That is the same matching: every receive
 * prefers those of an earlier turn.
 *
 * `gpu_partitioned` (§VI-A) is this kernel with a block for each segment: a segment has the messages and receives of some
 * sources, in order. No receive may leave its source open then. */

#define WINDOW 64u

/* Words of shared memory: two windows of votes for each warp. */
extern "C" __global__ void match_matrix(const Message *messages, const unsigned *message_order, const Receive *receives,
                                        const unsigned *receive_order, const Segment *segments, unsigned *matched)
{
    SHARED(unsigned, votes); /* [2][warps that scan][WINDOW] */
    const Segment segment = segments[blockIdx.x];
    const unsigned warps = blockDim.x / WARP, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    /* One warp for reducing alone, unless the matrix takes all that a block may have. */
    const bool overlaps = warps > 1 && warps < WARP;
    const unsigned scanners = overlaps ? warps - 1 : warps, reducer = overlaps ? scanners : 0;
    const unsigned receives_here = segment.receive_end - segment.receive;
    const unsigned windows = (receives_here + WINDOW - 1) / WINDOW;

    for (unsigned place = segment.receive + threadIdx.x; place < segment.receive_end; place += blockDim.x)
        matched[receive_order ? receive_order[place] : place] = NONE;
    __syncthreads();

    for (unsigned base = segment.message; base < segment.message_end; base += scanners * WARP) {
        const unsigned place = base + threadIdx.x;
        const bool has_message = warp < scanners && place < segment.message_end;
        Message message = {};
        if (has_message)
            message = messages[message_order ? message_order[place] : place];
        unsigned left = ALL; /* of the reducer's: messages of warp `lane` that no receive has taken */
        for (unsigned window = 0; window <= windows; window++) {
            if (warp < scanners && window < windows) {
                const unsigned first = segment.receive + window * WINDOW;
                const unsigned end = min(first + WINDOW, segment.receive_end);
                unsigned *row = votes + ((window % 2) * scanners + warp) * WINDOW;
                for (unsigned at = first; at < end; at++) {
                    const unsigned index = receive_order ? receive_order[at] : at;
                    const bool vote = has_message && matched[index] == NONE && accepts(receives[index], message);
                    const unsigned ballot = __ballot_sync(ALL, vote);
                    if (lane == 0)
                        row[at - first] = ballot;
                }
            }
            if (warp == reducer && window > 0) {
                const unsigned first = segment.receive + (window - 1) * WINDOW;
                const unsigned end = min(first + WINDOW, segment.receive_end);
                const unsigned *row = votes + (((window - 1) % 2) * scanners + lane) * WINDOW;
                for (unsigned at = first; at < end; at++) {
                    const unsigned vote = lane < scanners ? row[at - first] & left : 0;
                    const unsigned bidders = __ballot_sync(ALL, vote != 0);
                    if (bidders != 0 && lane == __ffs(bidders) - 1) {
                        const unsigned bit = __ffs(vote) - 1, message_place = base + lane * WARP + bit;
                        left &= ~(1u << bit);
                        matched[receive_order ? receive_order[at] : at] =
                            message_order ? message_order[message_place] : message_place;
                    }
                }
            }
            __syncthreads();
        }
    }
}
