/* `gpu_hash`: no wildcards and no order (Klenk et al. 2017, §VI-C), for programs with distinct envelopes for
 * all messages in flight.
 *
 * Two tables; the first has five times the size of the second. A receive is written to its slot in the first
 * table, and the receive that it displaces moves to the second. Messages search both. Differences from the
 * paper:
 * - In the paper, a receive without a free slot waits for the next round. Here it probes further slots of the
 *   second table, which has a slot for every receive. One round suffices.
 * - The paper hashes with Jenkins' function of six shifts, which needs most of an entry's instructions. Here
 *   a multilinear function has coefficients unknown to peers.
 * - The paper uses one block per batch. Here a block is divided into teams of warps, each with its batch and
 *   tables. While one team waits at its barrier or for memory, other teams continue.
 *
 * A thread has up to ITEMS receives and messages at once. In longer segments, every part of the messages is
 * matched with every part of the receives. Without ordering, the sequence of parts does not matter. */

/* Receives, and messages, of a thread. */
#ifdef WIDE
#define ITEMS 2u
#else
#define ITEMS 4u
#endif
/* Content of a slot: a receive in the lower bits, then key bits, and the round of the write. Because of the
 * round, tables are not cleared between rounds. */
#define RECEIVE_BITS 12u
#define KEY_BITS 14u
#define ROUND_SHIFT (RECEIVE_BITS + KEY_BITS)
/* Rounds until a table is cleared. */
#define ROUNDS 63u

/* Coefficients of a hash function. */
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

/* Upper half of a sum of products modulo 2^64. For any two envelopes, all pairs of keys have the same
 * probability (multilinear hashing, strongly universal). */
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

/* Written with one store. */
struct alignas(16) Four {
    unsigned words[4];
};

/* Tables of a team: PLACES slots in the second, a power of two, and five times PLACES in the first. */
template <unsigned PLACES> struct TwoTables {
    unsigned *first, *second;
    unsigned round; /* in the bits of the round */
};

/* Content of a slot for a key in this round and receive 0. */
template <unsigned PLACES> static __device__ inline unsigned mark_of(const TwoTables<PLACES> &tables, unsigned key)
{
    return tables.round | (key << RECEIVE_BITS & ((1u << ROUND_SHIFT) - 1));
}

/* Returns true if slot and mark differ in the receive at most. Then the difference is the receive. */
static __device__ inline bool is_key_same(unsigned difference)
{
    return difference >> RECEIVE_BITS == 0;
}

/* Returns true if slot and mark differ in receive and key at most. */
static __device__ inline bool is_round_same(unsigned difference)
{
    return difference >> ROUND_SHIFT == 0;
}

template <unsigned PLACES> static __device__ inline unsigned *first_place(const TwoTables<PLACES> &tables, unsigned key)
{
    return tables.first + __umulhi(key, 5 * PLACES);
}

/* In the second table, the mark gives the odd distance between probed slots. An odd distance reaches all
 * slots. */
template <unsigned PLACES> static __device__ inline unsigned second_place(unsigned mark)
{
    return (mark >> RECEIVE_BITS) % PLACES;
}

template <unsigned PLACES> static __device__ inline unsigned place_after(unsigned mark, unsigned place)
{
    return (place + (mark >> (ROUND_SHIFT - 7) | 1)) % PLACES;
}

/* Moves a receive displaced from the first table to the second. */
template <unsigned PLACES> static __device__ inline void place_in_second(const TwoTables<PLACES> &tables, unsigned own)
{
    for (unsigned place = second_place<PLACES>(own);; place = place_after<PLACES>(own, place)) {
        const unsigned found = *(volatile unsigned *)(tables.second + place);
        if (!is_round_same(found ^ tables.round) && atomicCAS(tables.second + place, found, own) == found)
            return;
    }
}

/* Takes a receive with the message's envelope from the second table. Returns false without such a receive. */
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

/* Element of an array in registers, which has no dynamic index. */
template <typename Value> static __device__ inline Value chosen(const Value *values, unsigned item)
{
    Value value = values[0];
#pragma unroll
    for (unsigned other = 1; other < ITEMS; other++)
        if (other == item)
            value = values[other];
    return value;
}

/* Entries of a thread in the part of a segment that starts at `base`: the items with `item * LANES` below the
 * result. */
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

/* Work of a team: segments one after the other. */
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
        /* The next step: the next part of the receives, or of the messages, or the team's next segment. */
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
        /* All lookups precede the first claim, because later reads wait for a claim. */
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
                /* The previous claimant had the same envelope, so this thread continues in its place. */
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

/* Divides the block into teams with the fewest threads that hold a whole segment at once. */
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

/* Shared memory, per item of each thread: an envelope, six slots, and a word. Threads: a power of two. */
extern "C" __global__ void BLOCK_OF(1024) match_hash(const Batch batch)
{
    SHARED(Envelope, keys);
    match_in_teams<32>(batch, keys);
}
