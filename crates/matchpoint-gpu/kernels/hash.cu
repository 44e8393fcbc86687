/* `gpu_hash`: no wildcards and no order (Klenk et al. 2017, §VI-C), for programs that tell all messages under way apart.
 *
 * Two tables, the first five times the second. Receives are put into the first, and what was at their place there goes to the
 * second; messages look in both. What departs from the paper:
 * - It has what finds no place wait for the next round. Here it looks on in the second table, which has a place for everybody,
 *   so that there is one round.
 * - It hashes with Jenkins' function of six shifts, which is most of the instructions that an entry takes. Here it is a
 *   multilinear one, whose coefficients no peer knows.
 * - It has a block for each batch. Here a block is divided into teams of warps, each with a batch and tables of its own: while
 *   one waits at its barrier, or for memory, others go on.
 *
 * A thread has up to ITEMS receives and messages at once. Of longer segments every part of the messages meets every part of
 * the receives: without order it does not matter which is first. */

/* Receives, and messages, of a thread. */
#ifdef WIDE
#define ITEMS 2u
#else
#define ITEMS 4u
#endif
/* What a slot has: a receive in the lower bits, then bits of its key, and the round in which it was written, so that tables
 * need not be cleared between rounds. */
#define RECEIVE_BITS 12u
#define KEY_BITS 14u
#define ROUND_SHIFT (RECEIVE_BITS + KEY_BITS)
/* After so many a table is cleared. */
#define ROUNDS 63u

/* Of a hash function. */
struct Coefficients {
    unsigned long long added;
#ifdef WIDE
    unsigned long long of_words[5];
#else
    unsigned long long of_words[2];
#endif
};

static __device__ inline Coefficients coefficients_of(unsigned long long seed)
{
    Coefficients coefficients;
    coefficients.added = mixed_word(seed);
    unsigned number = 0;
    for (unsigned long long &of_word : coefficients.of_words)
        of_word = mixed_word(seed + ++number * 0x9e3779b97f4a7c15);
    return coefficients;
}

/* The upper half of a sum of products modulo 2^64: whatever two envelopes are, one pair of keys is as likely as another
 * (multilinear hashing, strongly universal). */
static __device__ inline unsigned key_of(const Coefficients &coefficients, const Envelope &envelope)
{
    unsigned long long sum = coefficients.added;
#ifdef WIDE
    sum += coefficients.of_words[0] * (unsigned)envelope.source;
    sum += coefficients.of_words[1] * (unsigned)(envelope.source >> 32);
    sum += coefficients.of_words[2] * (unsigned)envelope.tag;
    sum += coefficients.of_words[3] * (unsigned)(envelope.tag >> 32);
    sum += coefficients.of_words[4] * envelope.context;
#else
    sum += coefficients.of_words[0] * (unsigned)envelope.word;
    sum += coefficients.of_words[1] * (unsigned)(envelope.word >> 32);
#endif
    return (unsigned)(sum >> 32);
}

/* Written at once. */
struct alignas(16) Four {
    unsigned words[4];
};

/* The tables of a team, with so many places in the second, a power of two, and five times as many in the first. */
template <unsigned PLACES> struct TwoTables {
    unsigned *first, *second;
    unsigned round; /* where slots have it */
};

/* What a slot says of a key in this round, if its receive is 0. */
template <unsigned PLACES> static __device__ inline unsigned mark_of(const TwoTables<PLACES> &tables, unsigned key)
{
    return tables.round | (key << RECEIVE_BITS & ((1u << ROUND_SHIFT) - 1));
}

/* Whether a slot differs from a mark in the receive alone: then the difference is the receive. */
static __device__ inline bool is_key_same(unsigned difference)
{
    return difference >> RECEIVE_BITS == 0;
}

/* Whether it differs in no more than receive and key. */
static __device__ inline bool is_round_same(unsigned difference)
{
    return difference >> ROUND_SHIFT == 0;
}

template <unsigned PLACES> static __device__ inline unsigned *first_place(const TwoTables<PLACES> &tables, unsigned key)
{
    return tables.first + __umulhi(key, 5 * PLACES);
}

/* In the second table, where the mark says how far it is from one place to the next: an odd number, so that all come by. */
template <unsigned PLACES> static __device__ inline unsigned second_place(unsigned mark)
{
    return (mark >> RECEIVE_BITS) % PLACES;
}

template <unsigned PLACES> static __device__ inline unsigned place_after(unsigned mark, unsigned place)
{
    return (place + (mark >> (ROUND_SHIFT - 7) | 1)) % PLACES;
}

/* Puts what was displaced from the first table into the second. */
template <unsigned PLACES> static __device__ inline void place_in_second(const TwoTables<PLACES> &tables, unsigned own)
{
    for (unsigned place = second_place<PLACES>(own);; place = place_after<PLACES>(own, place)) {
        const unsigned found = *(volatile unsigned *)(tables.second + place);
        if (!is_round_same(found ^ tables.round) && atomicCAS(tables.second + place, found, own) == found)
            return;
    }
}

/* Takes a receive of the message's envelope from the second table. False if there is none. */
template <unsigned PLACES>
static __device__ inline bool take_from_second(const TwoTables<PLACES> &tables, unsigned mark, const Envelope *keys,
                                               unsigned *got, const Envelope &message, unsigned name)
{
    for (unsigned place = second_place<PLACES>(mark);; place = place_after<PLACES>(mark, place)) {
        const unsigned difference = *(volatile unsigned *)(tables.second + place) ^ mark;
        if (!is_round_same(difference))
            return false;
        if (is_key_same(difference) && is_same(keys[difference], message) &&
            *(volatile unsigned *)(got + difference) == NONE && atomicCAS(got + difference, NONE, name) == NONE)
            return true;
    }
}

/* Of an array in registers, which cannot be asked by a number. */
template <typename Value> static __device__ inline Value chosen(const Value *values, unsigned item)
{
    Value value = values[0];
#pragma unroll
    for (unsigned other = 1; other < ITEMS; other++)
        if (other == item)
            value = values[other];
    return value;
}

/* What a thread has of the part of a segment that begins at `base`: its items whose number, times LANES, is less. */
static __device__ inline int share_of(unsigned base, unsigned end, unsigned lane)
{
    return (int)(end - base - lane);
}

template <int LANES> static __device__ inline bool has_item(int share, unsigned item)
{
    return share > (int)item * LANES;
}

template <int LANES>
static __device__ inline void fetch(Envelope *own, const Envelope *envelopes, unsigned base, unsigned end, unsigned lane)
{
    const int share = share_of(base, end, lane);
    const Envelope *const from = envelopes + base + lane;
#pragma unroll
    for (unsigned item = 0; item < ITEMS; item++)
        if (has_item<LANES>(share, item))
            own[item] = from[item * LANES];
}

/* A team's part of the work: segments one after the other. */
template <int LANES>
static __device__ inline void match_as_team(const Batch &batch, Envelope *keys, unsigned *got, unsigned *table, unsigned team,
                                            unsigned teams)
{
    constexpr unsigned WIDTH = ITEMS * LANES;
    const unsigned lane = threadIdx.x % LANES;
    const Coefficients coefficients = coefficients_of(batch.seed);
    TwoTables<WIDTH> tables;
    tables.first = table;
    tables.second = table + 5 * WIDTH;

    unsigned index = blockIdx.x * teams + team;
    if (index >= batch.segment_count)
        return;
    Segment next = batch.segments[index];
    unsigned next_message = next.message, next_receive = next.receive;
    Envelope messages[ITEMS] = {}, receives[ITEMS] = {};
    fetch<LANES>(messages, batch.messages, next_message, next.message_end, lane);
    fetch<LANES>(receives, batch.receives, next_receive, next.receive_end, lane);
    unsigned seeks = 0, names[ITEMS] = {}, round = ROUNDS;
    bool brings_messages = true;
    while (index < batch.segment_count) {
        const Segment segment = next;
        const unsigned message_base = next_message, receive_base = next_receive;
        const bool is_first = message_base == segment.message;
        if (brings_messages) {
            const int share = share_of(message_base, segment.message_end, lane);
            seeks = 0;
#pragma unroll
            for (unsigned item = 0; item < ITEMS; item++) {
                names[item] = message_base + lane + item * LANES;
                seeks |= has_item<LANES>(share, item) << item;
            }
        }
        /* What follows: the next part of the receives, or of the messages, or the team's next segment. */
        brings_messages = segment.receive_end - receive_base <= WIDTH;
        if (!brings_messages) {
            next_receive += WIDTH;
        } else if (segment.message_end - message_base > WIDTH) {
            next_receive = segment.receive;
            next_message += WIDTH;
        } else {
            index += gridDim.x * teams;
            next = index < batch.segment_count ? batch.segments[index] : Segment{0, 0, 0, 0};
            next_message = next.message;
            next_receive = next.receive;
        }

        if (round == ROUNDS) {
            for (unsigned at = lane; at < 6 * WIDTH / 4; at += LANES)
                ((Four *)table)[at] = Four{{0, 0, 0, 0}};
            meet_team(team, LANES);
            round = 0;
        }
        tables.round = ++round << ROUND_SHIFT;
        const int share = share_of(receive_base, segment.receive_end, lane);
        unsigned *const matched = batch.matched + receive_base + lane;
        bool waits[ITEMS];
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++)
            waits[item] = has_item<LANES>(share, item);
        if (!is_first)
#pragma unroll
            for (unsigned item = 0; item < ITEMS; item++)
                waits[item] = waits[item] && matched[item * LANES] == NONE;
        unsigned displaced[ITEMS], pending = 0;
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++) {
            const unsigned receive = item * LANES + lane;
            keys[receive] = receives[item];
            got[receive] = NONE;
            const unsigned key = key_of(coefficients, receives[item]);
            displaced[item] = 0;
            if (waits[item])
                displaced[item] = atomicExch(first_place(tables, key), mark_of(tables, key) | receive);
        }
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++)
            pending |= is_round_same(displaced[item] ^ tables.round) << item;
        for (; pending != 0; pending &= pending - 1)
            place_in_second(tables, chosen(displaced, __ffs(pending) - 1));
        __syncwarp();
        meet_team(team, LANES);

        fetch<LANES>(receives, batch.receives, next_receive, next.receive_end, lane);
        unsigned marks[ITEMS], differences[ITEMS];
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++) {
            const unsigned key = key_of(coefficients, messages[item]);
            marks[item] = mark_of(tables, key);
            differences[item] = *(volatile unsigned *)first_place(tables, key) ^ marks[item];
        }
        /* All are asked before any claims: what is read after that has to wait for it. */
        bool finds[ITEMS];
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++) {
            finds[item] = is_same(keys[differences[item] % WIDTH], messages[item]) && is_key_same(differences[item]) &&
                          (seeks >> item & 1);
            pending |= is_round_same(differences[item]) << item;
        }
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++)
            if (finds[item])
                /* Whoever had it before had the same envelope: this thread looks on in its place. */
                names[item] = atomicExch(got + differences[item], names[item]);
#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++)
            seeks &= ~((names[item] == NONE) << item);
        for (pending &= seeks; pending != 0; pending &= pending - 1) {
            const unsigned item = __ffs(pending) - 1;
            if (take_from_second(tables, chosen(marks, item), keys, got, chosen(messages, item), chosen(names, item)))
                seeks ^= 1u << item;
        }
        __syncwarp();
        if (brings_messages)
            fetch<LANES>(messages, batch.messages, next_message, next.message_end, lane);
        meet_team(team, LANES);

#pragma unroll
        for (unsigned item = 0; item < ITEMS; item++) {
            const unsigned found = got[item * LANES + lane];
            if (has_item<LANES>(share, item) && (is_first || found != NONE))
                matched[item * LANES] = found;
        }
    }
}

/* Divides the block into teams of so many threads, as few as have all of a segment at once. */
template <int LANES> static __device__ inline void match_in_teams(const Batch &batch, Envelope *keys)
{
    if constexpr (LANES < 1024)
        if (LANES < blockDim.x && ITEMS * LANES < batch.longest)
            return match_in_teams<2 * LANES>(batch, keys);
    constexpr unsigned WIDTH = ITEMS * LANES;
    const unsigned team = threadIdx.x / LANES;
    unsigned *const got = (unsigned *)(keys + ITEMS * blockDim.x), *const tables = got + ITEMS * blockDim.x;
    match_as_team<LANES>(batch, keys + team * WIDTH, got + team * WIDTH, tables + 6 * team * WIDTH, team, blockDim.x / LANES);
}

/* Shared memory, for each item of each thread: an envelope, six slots, and a word. Threads: a power of two. */
extern "C" __global__ void BLOCK_OF(1024) match_hash(const Batch batch)
{
    SHARED(Envelope, keys);
    match_in_teams<32>(batch, keys);
}
