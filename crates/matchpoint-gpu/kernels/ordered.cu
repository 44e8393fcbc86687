/* `gpu_ordered`: MPI's order with wildcards, at the speed of hashing (Matchpoint). In one block.
 *
 * Without wildcards, the k-th receive of an envelope gets its k-th message, and envelopes are independent.
 * First, each envelope of a receive claims a slot, in parallel and in any order. Then receives and messages
 * are numbered within their slot, in order. Receive and message with the same number match.
 *
 * Numbering is parallel. The lanes of a warp with the same slot find each other by a vote, and the first lane
 * writes their count, a byte per slot and warp. The number of an entry is the sum of the counts of earlier
 * warps, plus the earlier lanes.
 *
 * Wildcard receives are handled one after the other, each by all messages at once. A message knows its
 * partner: the exact receive that it would get. A wildcard receive can take the message if the wildcard
 * receive was posted before the partner. Within an envelope, the messages leave in order, so after a taken
 * message the later messages each move to an earlier partner.
 *
 * A block has one receive and one message per thread. This file matches a part of the messages with a part of
 * the receives. */

/* Places per thread, a power of two. A warp probes as often as its slowest lane, so most places are free. */
#define PLACES_PER_THREAD 8u

/* Words of counts per slot: a byte per warp of the largest block. */
#define COUNT_WORDS 8u

/* Content of a place: the thread of a receive in the lower bits, and hash bits. */
#define THREAD_BITS 10u
#define THREAD_MASK ((1u << THREAD_BITS) - 1)

/* Shared memory of a block with `threads` threads. A slot has the number of the first receive that claimed
 * its place. */
struct Tables {
    Envelope *keys;                            /* of receives */
    WildMask *wild_masks;                               /* of receives */
    unsigned *places;                          /* hashed: NONE, or the first receive */
    unsigned *got;                             /* per receive: the message */
    unsigned *receive_counts, *message_counts; /* [warps / 4][slots]: a byte per slot and warp */
    unsigned *receives;                        /* per slot: receives */
    unsigned *queues;                          /* per slot with several receives: start of its receives in `queued` */
    unsigned *queued;                          /* receives by slot, in order */
    unsigned *message_slots, *message_numbers;
    unsigned *wild;                            /* per warp: bits of its wildcard receives */
    unsigned *oldest;                          /* per warp two words: its message for a wildcard receive */
    unsigned *queue_end;
};

static __device__ inline Tables tables_of(unsigned long long *memory, unsigned threads)
{
    Tables tables;
    tables.keys = (Envelope *)memory;
    tables.wild_masks = (WildMask *)(tables.keys + threads);
    tables.places = (unsigned *)(tables.wild_masks + threads);
    tables.got = tables.places + PLACES_PER_THREAD * threads;
    tables.receive_counts = tables.got + threads;
    tables.message_counts = tables.receive_counts + COUNT_WORDS * threads;
    tables.receives = tables.message_counts + COUNT_WORDS * threads;
    tables.queues = tables.receives + threads;
    tables.queued = tables.queues + threads;
    tables.message_slots = tables.queued + threads;
    tables.message_numbers = tables.message_slots + threads;
    tables.wild = tables.message_numbers + threads;
    tables.oldest = tables.wild + threads / WARP;
    tables.queue_end = tables.oldest + 2 * (threads / WARP);
    return tables;
}

/* Counts the entries of this warp per slot. Returns the lanes with the same slot. */
static __device__ inline unsigned count_in_warp(unsigned *counts, unsigned slot, unsigned warp, unsigned lane)
{
    const unsigned same = __match_any_sync(ALL, slot);
    if (slot != NONE && lane == __ffs(same) - 1)
        ((unsigned char *)(counts + warp / 4 * blockDim.x + slot))[warp % 4] = (unsigned char)__popc(same);
    return same;
}

/* Number of earlier entries of the slot: those of earlier warps and earlier lanes. */
static __device__ inline unsigned number_in_slot(const unsigned *counts, unsigned slot, unsigned same, unsigned warp,
                                                 unsigned lane)
{
    if (slot == NONE)
        return 0;
    unsigned before = __popc(same & ((1u << lane) - 1));
    for (unsigned word = 0; word < warp / 4; word++)
        before = __dp4a(counts[word * blockDim.x + slot], 0x01010101u, before);
    const unsigned earlier = (1u << warp % 4 * 8) - 1;
    return __dp4a(counts[warp / 4 * blockDim.x + slot] & earlier, 0x01010101u, before);
}

/* Content of a place for a receive, never NONE. */
static __device__ inline unsigned stand(unsigned hash, unsigned thread)
{
    return (hash >> 1 & ~THREAD_MASK) | thread;
}

/* The slot of a receive's envelope. Places only change from free to taken, so all receives of an envelope
 * stop at the same place. */
static __device__ inline unsigned slot_to_stand(const Tables &tables, unsigned mask, const Envelope &receive, unsigned hash)
{
    const unsigned own = stand(hash, threadIdx.x);
    for (unsigned place = hash & mask;; place = (place + 1) & mask) {
        /* Read first: otherwise the atomic operations of duplicates would wait for each other. */
        unsigned found = *(volatile unsigned *)(tables.places + place);
        if (found == NONE)
            found = atomicCAS(tables.places + place, NONE, own);
        if (found == NONE)
            return threadIdx.x;
        if (((found ^ own) & ~THREAD_MASK) == 0 && is_same(tables.keys[found & THREAD_MASK], receive))
            return found & THREAD_MASK;
    }
}

/* The slot of a message's envelope, or NONE without a receive for it. */
static __device__ inline unsigned slot_to_find(const Tables &tables, unsigned mask, const Envelope &message, unsigned hash)
{
    const unsigned own = stand(hash, 0);
    for (unsigned place = hash & mask;; place = (place + 1) & mask) {
        const unsigned found = tables.places[place];
        if (found == NONE)
            return NONE;
        if (((found ^ own) & ~THREAD_MASK) == 0 && is_same(tables.keys[found & THREAD_MASK], message))
            return found & THREAD_MASK;
    }
}

/* The `number`-th receive of a slot, or NONE. */
static __device__ inline unsigned partner_of(const Tables &tables, unsigned slot, unsigned number)
{
    if (slot == NONE || number >= tables.receives[slot])
        return NONE;
    return tables.receives[slot] == 1 ? slot : tables.queued[tables.queues[slot] + number];
}

/* Extends a queue by `count` entries per lane. Returns the start of each lane's range. */
static __device__ inline unsigned extend_queue(unsigned *queue_end, unsigned count, unsigned lane)
{
    unsigned sum = count; /* inclusive prefix sum over the lanes */
    for (unsigned reach = 1; reach < WARP; reach *= 2) {
        const unsigned before = __shfl_sync(ALL, sum, lane >= reach ? lane - reach : lane);
        if (lane >= reach)
            sum += before;
    }
    unsigned begin = 0;
    if (lane == WARP - 1)
        begin = atomicAdd(queue_end, sum);
    begin = __shfl_sync(ALL, begin, WARP - 1);
    return begin + sum - count;
}

/* Assigns each slot with several receives its range of the queue. */
static __device__ inline void place_in_queue(const Tables &tables, unsigned slot, unsigned lane)
{
    const bool is_placed = slot == threadIdx.x && tables.receives[slot] > 1;
    if (__ballot_sync(ALL, is_placed) == 0)
        return;
    const unsigned begin = extend_queue(tables.queue_end, is_placed ? tables.receives[slot] : 0, lane);
    if (is_placed)
        tables.queues[slot] = begin;
}

/* Matches the wildcard receives one after the other. `partner` is the receive of the thread's message without
 * wildcard receives. Returns the receive of the message. */
static __device__ inline unsigned ask_wildcards(const Tables &tables, bool is_there, const Envelope &message, unsigned slot,
                                                unsigned number, unsigned lane)
{
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    unsigned partner = partner_of(tables, slot, number), taken = 0, wild = NONE, turn = 0;
    for (unsigned word = 0; word < warps; word++) {
        for (unsigned bits = tables.wild[word]; bits != 0; bits &= bits - 1, turn++) {
            const unsigned receive = word * WARP + __ffs(bits) - 1;
            const bool bids = is_there && wild == NONE && partner > receive &&
                              accepts(tables.keys[receive], tables.wild_masks[receive], message);
            const unsigned bidders = __ballot_sync(ALL, bids);
            /* Two buffers: before a buffer is written again, all threads have passed the barrier after its
             * reads. */
            unsigned *const oldest = tables.oldest + turn % 2 * warps;
            if (lane == 0)
                oldest[warp] = bidders != 0 ? warp * WARP + __ffs(bidders) - 1 : NONE;
            __syncthreads();
            const unsigned of_warp = lane < warps ? oldest[lane] : NONE;
            const unsigned warps_that_bid = __ballot_sync(ALL, of_warp != NONE);
            if (warps_that_bid == 0)
                continue;
            const unsigned winner = __shfl_sync(ALL, of_warp, __ffs(warps_that_bid) - 1);
            if (winner == threadIdx.x)
                wild = receive;
            else if (slot != NONE && wild == NONE && slot == tables.message_slots[winner] &&
                     number > tables.message_numbers[winner])
                partner = partner_of(tables, slot, number - ++taken);
        }
    }
    return wild != NONE ? wild : partner;
}

/* Matches if a slot has several receives or a receive has a wildcard. `slot`: of the thread's message. Called
 * by all threads together. Returns the receive of the message. */
static __device__ inline unsigned match_by_number(const Tables &tables, bool seeks, const Envelope &message, unsigned slot,
                                                  unsigned receive_slot, unsigned lane)
{
    const unsigned warp = threadIdx.x / WARP;
#pragma unroll
    for (unsigned word = 0; word < COUNT_WORDS; word++) {
        tables.receive_counts[word * blockDim.x + threadIdx.x] = 0;
        tables.message_counts[word * blockDim.x + threadIdx.x] = 0;
    }
    tables.receives[threadIdx.x] = 0;
    __syncthreads();
    const unsigned same_receive = count_in_warp(tables.receive_counts, receive_slot, warp, lane);
    if (receive_slot != NONE && lane == __ffs(same_receive) - 1)
        atomicAdd(&tables.receives[receive_slot], __popc(same_receive));
    const unsigned same_message = count_in_warp(tables.message_counts, slot, warp, lane);
    __syncthreads();
    place_in_queue(tables, receive_slot, lane);
    const unsigned receive_number = number_in_slot(tables.receive_counts, receive_slot, same_receive, warp, lane);
    const unsigned number = number_in_slot(tables.message_counts, slot, same_message, warp, lane);
    tables.message_slots[threadIdx.x] = slot;
    tables.message_numbers[threadIdx.x] = number;
    __syncthreads();
    if (receive_slot != NONE && tables.receives[receive_slot] > 1)
        tables.queued[tables.queues[receive_slot] + receive_number] = threadIdx.x;
    __syncthreads();
    return ask_wildcards(tables, seeks, message, slot, number, lane);
}

/* Marks receives without any compared message as unmatched. */
static __device__ inline void leave(const Batch &batch, unsigned receive, unsigned receive_end)
{
    for (unsigned at = receive + threadIdx.x; at < receive_end; at += blockDim.x)
        batch.matched[batch.receive_order ? batch.receive_order[at] : at] = NONE;
}

/* Messages from `message_base` and receives from `receive_base`, at most one each per thread. */
struct Part {
    unsigned message_base, message_end;
    unsigned receive_base, receive_end;
    bool is_first; /* no message was compared with these receives yet: `matched` is undefined */
};

/* Matches a part. Writes `matched` of receives with a new match, and of all receives in the first part.
 * `seeks`: the thread's message has no receive. Returns the receive of the message, or NONE. If `is_asked`,
 * also returns whether a message of the block still has no receive. */
static __device__ inline unsigned match_part(const Tables &tables, const Batch &batch, const Part &part, bool seeks,
                                             const Envelope &message, const Envelope &receive, bool is_asked,
                                             bool *any_seeks)
{
    const unsigned threads = blockDim.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const unsigned mask = PLACES_PER_THREAD * threads - 1;
    const unsigned posted = part.receive_base + threadIdx.x;
    const unsigned posted_as = posted < part.receive_end && batch.receive_order ? batch.receive_order[posted] : posted;
    const bool waits = posted < part.receive_end && (part.is_first || batch.matched[posted_as] == NONE);
    const WildMask wild_mask = waits && batch.wild_masks ? batch.wild_masks[posted] : WildMask{};
    const bool has_wildcard = waits && is_wild(wild_mask);
#pragma unroll
    for (unsigned turn = 0; turn < PLACES_PER_THREAD; turn++)
        tables.places[turn * threads + threadIdx.x] = NONE;
    tables.keys[threadIdx.x] = receive;
    tables.got[threadIdx.x] = NONE;
    if (batch.wild_masks)
        tables.wild_masks[threadIdx.x] = wild_mask;
    const unsigned wild_here = batch.wild_masks ? __ballot_sync(ALL, has_wildcard) : 0;
    if (lane == 0)
        tables.wild[warp] = wild_here;
    if (threadIdx.x == 0)
        *tables.queue_end = 0;
    /* All receives of a later part may already have a message. */
    if (part.is_first)
        __syncthreads();
    else if (!__syncthreads_or(waits))
        return NONE;

    unsigned receive_slot = NONE;
    if (waits && !has_wildcard)
        receive_slot = slot_to_stand(tables, mask, receive, (unsigned)mixed(receive, batch.seed));
    const bool is_simple = !__syncthreads_or(has_wildcard || (receive_slot != NONE && receive_slot != threadIdx.x));
    unsigned slot = NONE;
    if (seeks)
        slot = slot_to_find(tables, mask, message, (unsigned)mixed(message, batch.seed));
    unsigned partner = slot;
    if (is_simple) {
        /* No slot has a second receive. The oldest message of the slot gets its receive. */
        if (slot != NONE)
            atomicMin(tables.got + slot, threadIdx.x);
    } else {
        partner = match_by_number(tables, seeks, message, slot, receive_slot, lane);
        if (partner != NONE)
            tables.got[partner] = threadIdx.x;
    }
    __syncthreads();
    const unsigned got = tables.got[threadIdx.x];
    if (waits && (part.is_first || got != NONE)) {
        const unsigned message_at = part.message_base + got;
        batch.matched[posted_as] = got == NONE ? NONE : batch.message_order ? batch.message_order[message_at] : message_at;
    }
    if (!is_asked)
        return NONE;
    const bool is_got = partner != NONE && tables.got[partner] == threadIdx.x;
    *any_seeks = __syncthreads_or(seeks && !is_got);
    return is_got ? part.receive_base + partner : NONE;
}
