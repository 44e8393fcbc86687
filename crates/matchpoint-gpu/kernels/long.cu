/* Long segments of `gpu_ordered`, in linear time. Part by part, the time would be quadratic, most of all for
 * thousands of duplicates.
 *
 * The slots are in the card's memory, in a ledger. Receives are counted by envelope and then written to
 * queues, one per envelope. Each message takes the next receive of its queue. A block processes as many
 * entries at a time as it has threads, in order. The block numbers its entries within their envelopes in
 * shared memory, and the first entry of an envelope accesses the ledger for all of them.
 *
 * No receive has a wildcard. After ordered.cu. */

/* Both sides of a long segment have more parts. Up to 64 pairs of parts take no longer than three passes over
 * a ledger in the card's memory. If one side is short, the number of pairs is linear in the other. */
#define LONG_PARTS 8u

/* Words of a ledger per receive. */
#define LEDGER_WORDS 6u

/* A slot has the number of the first receive that claimed its place, relative to the segment's start. */
struct Ledger {
    const Envelope *keys;  /* of receives */
    unsigned *places;      /* hashed: NONE, or the first receive. Two per receive */
    unsigned *left;        /* per slot: receives; later, receives without a message */
    unsigned *placed;      /* per slot: receives written to its queue */
    unsigned *begins;      /* per slot: start of its receives in `queued` */
    unsigned *queued;      /* receives by slot, in order */
    unsigned count;        /* receives */
};

static __device__ inline bool is_long(const Segment &segment)
{
    return min(segment.message_end - segment.message, segment.receive_end - segment.receive) > LONG_PARTS * blockDim.x;
}

static __device__ inline Ledger ledger_of(const Batch &batch, const Segment &segment)
{
    Ledger ledger;
    ledger.count = segment.receive_end - segment.receive;
    ledger.keys = batch.receives + segment.receive;
    ledger.places = batch.ledger + (unsigned long long)LEDGER_WORDS * segment.receive;
    ledger.left = ledger.places + 2 * (unsigned long long)ledger.count;
    ledger.placed = ledger.left + ledger.count;
    ledger.begins = ledger.placed + ledger.count;
    ledger.queued = ledger.begins + ledger.count;
    return ledger;
}

/* The slot of an envelope in the ledger. Without a slot, receive `stands` claims one; if `stands` is NONE,
 * the result is NONE. Places only change from free to taken. */
static __device__ inline unsigned slot_in_ledger(const Ledger &ledger, const Envelope &envelope, unsigned long long seed,
                                                 unsigned stands)
{
    const unsigned places = 2 * ledger.count;
    for (unsigned place = __umulhi((unsigned)mixed(envelope, seed), places);; place = place + 1 == places ? 0 : place + 1) {
        unsigned found = *(volatile unsigned *)(ledger.places + place);
        if (found == NONE && stands != NONE) {
            found = atomicCAS(ledger.places + place, NONE, stands);
            if (found == NONE)
                return stands;
        }
        if (found == NONE || is_same(ledger.keys[found], envelope))
            return found;
    }
}

/* An entry in a block: the first thread with its envelope, and the number of earlier entries with its
 * envelope. */
struct Numbered {
    unsigned slot, number;
};

/* Numbers the threads' entries within each envelope, in order. `tables.receives` counts the entries per slot.
 * Between two calls, the block needs a barrier: other threads read the tables. */
static __device__ inline Numbered number_in_block(const Tables &tables, bool is_there, const Envelope &envelope,
                                                  unsigned long long seed)
{
    const unsigned threads = blockDim.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (unsigned turn = 0; turn < PLACES_PER_THREAD; turn++)
        tables.places[turn * threads + threadIdx.x] = NONE;
#pragma unroll
    for (unsigned word = 0; word < COUNT_WORDS; word++)
        tables.receive_counts[word * threads + threadIdx.x] = 0;
    tables.keys[threadIdx.x] = envelope;
    tables.receives[threadIdx.x] = 0;
    __syncthreads();
    Numbered own{NONE, 0};
    if (is_there)
        own.slot = slot_to_stand(tables, PLACES_PER_THREAD * threads - 1, envelope, (unsigned)mixed(envelope, seed));
    const unsigned same = count_in_warp(tables.receive_counts, own.slot, warp, lane);
    if (own.slot != NONE && lane == __ffs(same) - 1)
        atomicAdd(&tables.receives[own.slot], __popc(same));
    __syncthreads();
    own.number = number_in_slot(tables.receive_counts, own.slot, same, warp, lane);
    return own;
}

/* Counts the receives of each envelope, in any order, and assigns each envelope its range of the queue. */
static __device__ inline void count_receives(const Tables &tables, const Ledger &ledger, unsigned long long seed)
{
    const unsigned threads = blockDim.x, lane = threadIdx.x % WARP;
    for (unsigned at = threadIdx.x; at < 2 * ledger.count; at += threads)
        ledger.places[at] = NONE;
    for (unsigned at = threadIdx.x; at < ledger.count; at += threads)
        ledger.left[at] = ledger.placed[at] = 0;
    if (threadIdx.x == 0)
        *tables.queue_end = 0;
    __syncthreads();
    for (unsigned base = 0; base < ledger.count; base += threads) {
        const unsigned at = base + threadIdx.x;
        const unsigned slot = at < ledger.count ? slot_in_ledger(ledger, ledger.keys[at], seed, at) : NONE;
        const unsigned same = __match_any_sync(ALL, slot);
        if (slot != NONE && lane == __ffs(same) - 1)
            atomicAdd(ledger.left + slot, __popc(same));
    }
    __syncthreads();
    for (unsigned base = 0; base < ledger.count; base += threads) {
        const unsigned at = base + threadIdx.x;
        const unsigned begin = extend_queue(tables.queue_end, at < ledger.count ? ledger.left[at] : 0, lane);
        if (at < ledger.count)
            ledger.begins[at] = begin;
    }
}

/* Writes the receives to the queues of their envelopes. */
static __device__ inline void queue_receives(const Tables &tables, const Ledger &ledger, unsigned long long seed)
{
    for (unsigned base = 0; base < ledger.count; base += blockDim.x) {
        const unsigned at = base + threadIdx.x;
        const Envelope receive = envelope_at(ledger.keys, base, ledger.count);
        const Numbered own = number_in_block(tables, at < ledger.count, receive, seed);
        if (own.slot == threadIdx.x) {
            const unsigned slot = slot_in_ledger(ledger, receive, seed, NONE);
            tables.queues[threadIdx.x] = ledger.begins[slot] + ledger.placed[slot];
            ledger.placed[slot] += tables.receives[threadIdx.x];
        }
        __syncthreads();
        if (own.slot != NONE)
            ledger.queued[tables.queues[own.slot] + own.number] = at;
    }
}

/* Matches a segment. With HOLDS, records the holder of each message and skips taken messages. Inline, because
 * as a separate function it makes callers spill registers to memory. */
template <bool HOLDS>
static __device__ inline void match_long(const Tables &tables, const Batch &batch, const Segment &segment)
{
    const Ledger ledger = ledger_of(batch, segment);
    leave(batch, segment.receive, segment.receive_end);
    count_receives(tables, ledger, batch.seed);
    queue_receives(tables, ledger, batch.seed);
    for (unsigned base = segment.message; base < segment.message_end; base += blockDim.x) {
        const unsigned at = base + threadIdx.x;
        const unsigned known_as = at < segment.message_end && batch.message_order ? batch.message_order[at] : at;
        const bool seeks = at < segment.message_end && !(HOLDS && batch.held[known_as] == TAKEN);
        const Envelope message = envelope_at(batch.messages, base, segment.message_end);
        const Numbered own = number_in_block(tables, seeks, message, batch.seed);
        if (own.slot == threadIdx.x) {
            const unsigned slot = slot_in_ledger(ledger, message, batch.seed, NONE);
            unsigned left = 0;
            if (slot != NONE) {
                left = ledger.left[slot];
                tables.queues[threadIdx.x] = ledger.begins[slot] + ledger.placed[slot] - left;
                ledger.left[slot] = left - min(left, tables.receives[threadIdx.x]);
            }
            tables.queued[threadIdx.x] = left;
        }
        __syncthreads();
        unsigned receive = NONE;
        if (own.slot != NONE && own.number < tables.queued[own.slot])
            receive = segment.receive + ledger.queued[tables.queues[own.slot] + own.number];
        const unsigned receive_as = receive != NONE && batch.receive_order ? batch.receive_order[receive] : receive;
        if (receive != NONE)
            batch.matched[receive_as] = known_as;
        if (HOLDS && seeks)
            batch.held[known_as] = receive == NONE ? FREE : receive_as + 1;
    }
}
