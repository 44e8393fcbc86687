/* `gpu_hash`: no wildcards and no order (Klenk et al. 2017, §VI-C), for programs that tell all messages under way apart.
 * A block for each segment.
 *
 * Two tables, the first five times the second. Receives are put into the first, or if their place there is taken into the
 * second; messages look in both. The paper has what finds no place wait for the next round, and a round is all of this again;
 * here it looks a few places on in the second table first, so that there is hardly ever another round. A receive that is
 * left in a table after a round has no message: one of its key would have found it. So each round is done with all receives
 * that it placed.
 *
 * A block has up to four receives and messages for each of its threads: the more, the less it waits. Of longer segments every
 * part of the messages meets every part of the receives: without order it does not matter which is first. */

#define TAKEN 0xfffffffeu
/* Receives, and messages, of a thread. */
#define ITEMS 4u
/* What a slot has: a receive in the lower bits, and bits of its key. */
#define RECEIVE_BITS 12u
#define RECEIVE_MASK ((1u << RECEIVE_BITS) - 1)
/* Places of the second table that are looked at. */
#define PLACES 8u

/* Jenkins' function of six shifts, which the paper chose, of an envelope that is folded into 32 bits. */
static __device__ inline unsigned jenkins(const Envelope &envelope, unsigned seed)
{
#ifdef WIDE
    unsigned key = envelope.context + seed;
    key = key * 0x9e3779b1 ^ (unsigned)envelope.source;
    key = key * 0x85ebca77 ^ (unsigned)(envelope.source >> 32);
    key = key * 0xc2b2ae3d ^ (unsigned)envelope.tag;
    key = key * 0x27d4eb2f ^ (unsigned)(envelope.tag >> 32);
#else
    unsigned key = ((unsigned)(envelope.word >> 32) + seed) * 0x9e3779b1 ^ (unsigned)envelope.word;
#endif
    key = (key + 0x7ed55d16) + (key << 12);
    key = (key ^ 0xc761c23c) ^ (key >> 19);
    key = (key + 0x165667b1) + (key << 5);
    key = (key + 0xd3a2646c) ^ (key << 9);
    key = (key + 0xfd7046c5) + (key << 3);
    return (key ^ 0xb55a4f09) ^ (key >> 16);
}

/* The place of a key in the second table: of other bits than that in the first. */
static __device__ inline unsigned secondary_place(unsigned key, unsigned secondary)
{
    return __umulhi(key * 0x85ebca6b, secondary);
}

/* Written at once. */
struct alignas(16) Four {
    unsigned words[4];
};

/* What a slot says of a receive: never NONE, nor TAKEN. */
static __device__ inline unsigned mark(unsigned key, unsigned receive)
{
    return (key & 0x7fffffff & ~RECEIVE_MASK) | receive;
}

/* Puts a receive into a table. False if there is no place. */
static __device__ inline bool place(unsigned *table, unsigned primary, unsigned secondary, unsigned key, unsigned receive)
{
    const unsigned own = mark(key, receive);
    if (atomicCAS(table + __umulhi(key, primary), NONE, own) == NONE)
        return true;
    unsigned at = secondary_place(key, secondary);
    for (unsigned tried = 0; tried < PLACES; tried++, at = at + 1 == secondary ? 0 : at + 1)
        if (atomicCAS(table + primary + at, NONE, own) == NONE)
            return true;
    return false;
}

/* Takes a receive of the message's envelope, NONE if there is none. */
static __device__ inline unsigned claim(unsigned *table, unsigned primary, unsigned secondary, unsigned key,
                                        const Envelope *keys, const Envelope &message)
{
    const unsigned own = mark(key, 0);
    unsigned *slot = table + __umulhi(key, primary);
    unsigned at = secondary_place(key, secondary);
    for (unsigned tried = 0;; tried++, at = at + 1 == secondary ? 0 : at + 1) {
        const unsigned found = *(volatile unsigned *)slot;
        if (found == NONE) /* slots only go from free to used while receives are placed, so there is none further on */
            return NONE;
        if (((found ^ own) & ~RECEIVE_MASK) == 0 && is_same(keys[found & RECEIVE_MASK], message) &&
            atomicCAS(slot, found, TAKEN) == found)
            return found & RECEIVE_MASK;
        if (tried == PLACES)
            return NONE;
        slot = table + primary + at;
    }
}

/* Envelopes of a thread from `base` on. */
static __device__ inline void fetch(Envelope *own, const Envelope *envelopes, unsigned base, unsigned end)
{
#pragma unroll
    for (unsigned item = 0; item < ITEMS; item++)
        own[item] = envelope_at(envelopes, base + item * blockDim.x, end);
}

/* Shared memory, for each item of each thread: an envelope, six slots, and a word. */
extern "C" __global__ void BLOCK_OF(1024) match_hash(const Batch batch)
{
    SHARED(Envelope, keys);
    const unsigned threads = blockDim.x, at_once = ITEMS * threads;
    unsigned *const table = (unsigned *)(keys + at_once), *const got = table + 6 * at_once;
    if (blockIdx.x >= batch.segment_count)
        return;
    Segment next = batch.segments[blockIdx.x];
    for (unsigned index = blockIdx.x; index < batch.segment_count; index += gridDim.x) {
        const Segment segment = next;
        if (index + gridDim.x < batch.segment_count)
            next = batch.segments[index + gridDim.x];
        for (unsigned message_base = segment.message;; message_base += at_once) {
            const bool is_first = message_base == segment.message;
            Envelope messages[ITEMS];
            fetch(messages, batch.messages, message_base, segment.message_end);
            unsigned seeks = 0; /* a bit for each message */
#pragma unroll
            for (unsigned item = 0; item < ITEMS; item++)
                seeks |= (message_base + item * threads + threadIdx.x < segment.message_end) << item;
            for (unsigned receive_base = segment.receive; receive_base < segment.receive_end; receive_base += at_once) {
                /* Tables as large as this part needs. */
                const unsigned parts = (min(segment.receive_end - receive_base, at_once) + threads - 1) / threads;
                const unsigned secondary = parts * threads, primary = 5 * secondary;
                Envelope receives[ITEMS];
                fetch(receives, batch.receives, receive_base, segment.receive_end);
                unsigned waited = 0;
#pragma unroll
                for (unsigned item = 0; item < ITEMS; item++) {
                    const unsigned posted = receive_base + item * threads + threadIdx.x;
                    if (posted < segment.receive_end && (is_first || batch.matched[posted] == NONE))
                        waited |= 1u << item;
                    if (item < parts) {
                        keys[item * threads + threadIdx.x] = receives[item];
                        got[item * threads + threadIdx.x] = NONE;
                    }
                }
                unsigned waits = waited;
                bool again = true;
                while (again) {
                    for (unsigned at = threadIdx.x; at < (primary + secondary) / 4; at += threads)
                        ((Four *)table)[at] = Four{{NONE, NONE, NONE, NONE}};
                    __syncthreads();
#pragma unroll
                    for (unsigned item = 0; item < ITEMS; item++)
                        if (waits >> item & 1) {
                            const unsigned key = jenkins(receives[item], (unsigned)batch.seed);
                            if (place(table, primary, secondary, key, item * threads + threadIdx.x))
                                waits ^= 1u << item;
                        }
                    again = __syncthreads_or(waits != 0);
#pragma unroll
                    for (unsigned item = 0; item < ITEMS; item++) {
                        if (!(seeks >> item & 1))
                            continue;
                        const unsigned key = jenkins(messages[item], (unsigned)batch.seed);
                        const unsigned found = claim(table, primary, secondary, key, keys, messages[item]);
                        if (found != NONE) {
                            got[found] = message_base + item * threads + threadIdx.x;
                            seeks ^= 1u << item;
                        }
                    }
                    __syncthreads();
                }
#pragma unroll
                for (unsigned item = 0; item < ITEMS; item++) {
                    const unsigned at = item * threads + threadIdx.x;
                    if ((waited >> item & 1) && (is_first || got[at] != NONE))
                        batch.matched[receive_base + at] = got[at];
                }
            }
            if (message_base + at_once >= segment.message_end)
                break;
        }
    }
}
