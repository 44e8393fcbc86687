/* Long segments of `gpu_ordered`, in time that grows with their length: part by part it would grow with its square, most of
 * all where one envelope has many thousands of entries.
 *
 * Their slots lie in the card's memory, a ledger: receives are counted by envelope, then written into queues, one for each
 * envelope, and each message takes the next of its queue. A block does so for as many entries at a time as it has threads, in
 * order: within these the envelopes are numbered in shared memory, and the first of each asks the ledger for all of it.
 *
 * No receive leaves anything open. After ordered.cu. */

/* Parts that both sides have at least one more of. Up to 64 meetings of parts take no longer than three passes over a ledger
 * that is far away; if one side has few, meetings grow with the other alone. */
#define LONG_PARTS 8u

/* Of a ledger, for each receive. */
#define LEDGER_WORDS 6u

/* A slot is that of the receive that came to its place first, and has its number, counted from the first of the segment. */
struct Ledger {
    const Envelope *keys;  /* of receives */
    unsigned *places;      /* hashed: NONE, or the receive that came first. Two for each receive */
    unsigned *left;        /* of each slot: receives; then those that no message has */
    unsigned *placed;      /* of each slot: receives that are in its queue */
    unsigned *begins;      /* where the receives of each slot begin in `queued` */
    unsigned *queued;      /* receives by slot, in order */
    unsigned count;        /* of receives */
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

/* The slot of an envelope in the ledger. `stands`: the receive that takes a place for it if there is none; if that is NONE, so
 * is what is not found. Places only ever go from free to taken. */
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

/* An entry among those of a block: the thread that came first for its envelope, and how many of it are before. */
struct Numbered {
    unsigned slot, number;
};

/* Numbers what threads have within each envelope, in order; `tables.receives` of each slot is how many there are. Who calls it again has
 * met since: before that, others read what is written here. */
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

/* Counts the receives of each envelope, in any order, and gives each its place in the queue. */
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

/* Writes the receives into the queues of their envelopes. */
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

/* Matches a segment. If HOLDS, writes down who has each message, and knows those that are taken. Inline:
 * where it is a function by itself, those that call it keep registers in memory. */
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
