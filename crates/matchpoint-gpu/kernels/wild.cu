/* Wildcard receives of a batch on the whole card. The exact receives were matched before, in independent
 * parts, and `held` has the holder of each message. A wildcard receive takes the oldest message that it
 * matches and that no earlier receive has. Then the part of this message is matched again without the
 * message.
 *
 * Works in rounds, with a window of wildcard receives in posted order:
 * - `seek_oldest`, the whole card: the oldest available message for each receive of the window.
 * - `settle_wildcards`, one block: the receives that may take their message. A message only becomes
 *   unavailable, because its holder only becomes earlier, and only after a message of the same envelope was
 *   taken. The found message is therefore right unless an earlier receive may take a message of this
 *   envelope. Such a receive found a message of the envelope, or it waits and matches the envelope. A receive
 *   that waits for an earlier one searches again in the next round. The earliest receive never waits.
 * - `match_held`, the whole card: the parts with a taken message.
 *
 * After kept.h. */

/* Places per receive of a window, to find receives for the same envelope. */
#define PLACES_PER_RECEIVE 8u

/* Progress, in the card's memory, read by the host. */
struct Progress {
    unsigned settled; /* wildcard receives */
    unsigned window;  /* receives in a round */
    unsigned round;   /* from 1 on */
    unsigned padding;
};

struct Wildcards {
    const Envelope *messages; /* of the original batch, as the receives */
    const Envelope *receives;
    const WildMask *wild_masks;
    unsigned *held;
    unsigned *matched;
    unsigned *pending;        /* wildcard receives in posted order, the settled ones first */
    unsigned *oldest;         /* per receive of a window: its candidate message */
    const Segment *segments;  /* of the parts */
    Segment *changed;         /* per receive of a window: the segment of its taken message, or an empty segment */
    unsigned *changed_in;     /* per part: the round of its last change */
    Progress *progress;
    unsigned long long seed;
    unsigned message_count, count, parts;
    unsigned window_max;      /* maximum receives of a window, a power of two */
};

static __device__ inline unsigned window_of(const Wildcards &wildcards)
{
    return min(wildcards.progress->window, wildcards.count - wildcards.progress->settled);
}

/* Initializes: all messages free, no changes, and the first round with a window of `blockDim.x` receives. */
extern "C" __global__ void BLOCK_OF(1024) begin_wildcards(const Wildcards wildcards)
{
    const unsigned from = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (unsigned at = from; at < wildcards.message_count; at += step)
        wildcards.held[at] = FREE;
    for (unsigned at = from; at < wildcards.parts; at += step)
        wildcards.changed_in[at] = 0;
    if (from < blockDim.x)
        wildcards.oldest[from] = NONE;
    if (from == 0)
        *wildcards.progress = Progress{0, blockDim.x, 1, 0};
}

/* A receive of a window, in shared memory. */
struct Wanted {
    Envelope envelope;
    WildMask wild_mask;
    unsigned name;   /* receive index + 1, as in `held` */
    unsigned oldest; /* message found by this block */
    unsigned next;   /* of the same list, or NONE */
    unsigned padding;
};

/* Number of masks with separate lists, hashed by the compared fields. Receives with any other mask share one
 * list. */
#define MASKS 8u

/* The receives of a window in lists, so that a message is compared with few receives. */
struct Wants {
    Wanted *wanted;
    unsigned *lists; /* first of each list, or NONE: `list_count` lists by hash, and the list of other masks */
    unsigned list_count;
    unsigned *masks; /* per mask: a receive that has it, or NONE */
};

/* The list of receives with this mask for this envelope. */
static __device__ inline unsigned list_of(const Wants &wants, const Envelope &envelope, const WildMask &wild_mask,
                                          unsigned long long seed)
{
    return (unsigned)mixed(masked(envelope, wild_mask), seed) & (wants.list_count - 1);
}

static __device__ inline void put_into_list(const Wants &wants, unsigned at, unsigned long long seed)
{
    Wanted &own = wants.wanted[at];
    unsigned mask = 0;
    for (; mask < MASKS; mask++) {
        unsigned first = *(volatile unsigned *)(wants.masks + mask);
        if (first == NONE)
            first = atomicCAS(wants.masks + mask, NONE, at);
        if (first == NONE || is_same_mask(wants.wanted[first].wild_mask, own.wild_mask))
            break;
    }
    const unsigned list = mask < MASKS ? list_of(wants, own.envelope, own.wild_mask, seed) : wants.list_count;
    own.next = atomicExch(wants.lists + list, at);
}

/* Offers a message to the receives of a list. A receive takes the offer if it matches and no earlier receive
 * holds the message. */
static __device__ inline void offer(const Wants &wants, unsigned list, const Envelope &envelope, unsigned message,
                                    unsigned holder)
{
    for (unsigned at = wants.lists[list]; at != NONE; at = wants.wanted[at].next) {
        Wanted &own = wants.wanted[at];
        if (holder > own.name && message < *(volatile unsigned *)&own.oldest && accepts(own.envelope, own.wild_mask, envelope))
            atomicMin(&own.oldest, message);
    }
}

/* Shared memory, per receive of the largest window: a Wanted, and two words for lists; then MASKS words and
 * one. */
extern "C" __global__ void BLOCK_OF(512) seek_oldest(const Wildcards wildcards)
{
    SHARED(Wanted, wanted);
    const unsigned window = window_of(wildcards);
    if (window == 0)
        return;
    Wants wants;
    wants.wanted = wanted;
    wants.list_count = 2 * wildcards.window_max;
    wants.lists = (unsigned *)(wanted + wildcards.window_max);
    wants.masks = wants.lists + wants.list_count + 1;
    for (unsigned at = threadIdx.x; at < wants.list_count + 1 + MASKS; at += blockDim.x)
        wants.lists[at] = NONE; /* and masks, which follow */
    for (unsigned at = threadIdx.x; at < window; at += blockDim.x) {
        const unsigned receive = wildcards.pending[wildcards.progress->settled + at];
        wanted[at] = Wanted{wildcards.receives[receive], wildcards.wild_masks[receive], receive + 1, NONE, NONE, 0};
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < window; at += blockDim.x)
        put_into_list(wants, at, wildcards.seed);
    __syncthreads();
    const unsigned step = gridDim.x * blockDim.x;
    for (unsigned message = blockIdx.x * blockDim.x + threadIdx.x; message < wildcards.message_count; message += step) {
        const Envelope envelope = wildcards.messages[message];
        const unsigned holder = wildcards.held[message];
        for (unsigned mask = 0; mask < MASKS && wants.masks[mask] != NONE; mask++)
            offer(wants, list_of(wants, envelope, wanted[wants.masks[mask]].wild_mask, wildcards.seed), envelope, message, holder);
        offer(wants, wants.list_count, envelope, message, holder);
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < window; at += blockDim.x)
        if (wanted[at].oldest != NONE)
            atomicMin(wildcards.oldest + at, wanted[at].oldest);
}

/* One block, with a thread per receive of the largest window. Shared memory, per thread: an envelope, a mask,
 * PLACES_PER_RECEIVE words; per warp three words. */
extern "C" __global__ void BLOCK_OF(1024) settle_wildcards(const Wildcards wildcards)
{
    SHARED(Envelope, envelopes);
    WildMask *const wild_masks = (WildMask *)(envelopes + blockDim.x);
    unsigned *const places = (unsigned *)(wild_masks + blockDim.x);
    unsigned *const waiting = places + PLACES_PER_RECEIVE * blockDim.x, *const sums = waiting + blockDim.x / WARP;
    const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const Progress progress = *wildcards.progress;
    const unsigned window = window_of(wildcards);
    wildcards.changed[threadIdx.x] = Segment{0, 0, 0, 0};
    if (window == 0)
        return;
    const bool is_there = threadIdx.x < window;
    const unsigned receive = is_there ? wildcards.pending[progress.settled + threadIdx.x] : NONE;
    const unsigned message = is_there ? wildcards.oldest[threadIdx.x] : NONE;
    wildcards.oldest[threadIdx.x] = NONE;
    const bool finds = message != NONE;
    const Envelope envelope = finds ? wildcards.messages[message] : Envelope{};
    if (is_there) {
        envelopes[threadIdx.x] = wildcards.receives[receive];
        wild_masks[threadIdx.x] = wildcards.wild_masks[receive];
    }
    for (unsigned at = threadIdx.x; at < PLACES_PER_RECEIVE * blockDim.x; at += blockDim.x)
        places[at] = NONE;
    __syncthreads();
    /* Of the receives for one envelope, or with a hash collision, only the earliest proceeds. */
    unsigned *const place = places + ((unsigned)mixed(envelope, wildcards.seed) & (PLACES_PER_RECEIVE * blockDim.x - 1));
    if (finds)
        atomicMin(place, threadIdx.x);
    __syncthreads();
    bool waits = finds && *place != threadIdx.x;
    /* A receive also waits if an earlier waiting receive matches its message's envelope. Repeated until no
     * further receive waits. */
    bool is_new = waits;
    for (;;) {
        const unsigned new_here = __ballot_sync(ALL, is_new);
        if (lane == 0)
            waiting[warp] = new_here;
        if (!__syncthreads_or(is_new))
            break;
        is_new = false;
        for (unsigned word = 0; word <= warp && finds && !waits; word++)
            for (unsigned bits = waiting[word]; bits != 0 && !waits; bits &= bits - 1) {
                const unsigned earlier = word * WARP + __ffs(bits) - 1;
                is_new = earlier < threadIdx.x && accepts(envelopes[earlier], wild_masks[earlier], envelope);
                waits = is_new;
            }
        __syncthreads();
    }
    if (is_there && !waits) {
        wildcards.matched[receive] = message;
        if (finds) {
            const unsigned holder = wildcards.held[message];
            wildcards.held[message] = TAKEN;
            /* Without a holder, no part changes. */
            const unsigned part = part_of(envelope, wildcards.seed, wildcards.parts);
            if (holder != FREE && atomicExch(wildcards.changed_in + part, progress.round) != progress.round)
                wildcards.changed[threadIdx.x] = wildcards.segments[part];
        }
    }
    unsigned left = 0;
    const unsigned behind = place_among_kept(sums, waits, &left), settled = progress.settled + window - left;
    if (waits)
        wildcards.pending[settled + behind] = receive;
    if (threadIdx.x == 0)
        /* If most receives wait, a smaller window wastes fewer searches. */
        *wildcards.progress =
            Progress{settled, 2 * left > window ? max(window / 2, WARP) : min(2 * progress.window, blockDim.x),
                     progress.round + 1, 0};
}
