/* Wildcard receives of a batch that the whole card matches: exact ones were matched in parts, each by itself, and it is known
 * who has each message (`held`). A wildcard receive takes the oldest message that it accepts and that no earlier receive has.
 * Then that message's part is matched again without it.
 *
 * Done in rounds, for a window of the wildcard receives at a time, in the order of posting:
 * - `seek_oldest`, the whole card: the oldest message that each might take as things are.
 * - `settle_wildcards`, one block: who may take it. A message only ever becomes unavailable to a receive, for its holder only
 *   ever becomes earlier, and only because a message of the same envelope was taken. So what a receive has found is right
 *   unless an earlier one may take of that envelope: one that found a message of it, or one that still has to seek and
 *   accepts it. Who waits for an earlier one is asked again in the next round. The earliest never waits.
 * - `match_held`, the whole card: the parts of which a message was taken.
 *
 * After kept.h. */

/* Places for each receive of a window, to find those that want the same envelope. */
#define PLACES_PER_RECEIVE 8u

/* How far it is: of the card's memory, read by the host. */
struct Progress {
    unsigned settled; /* wildcard receives */
    unsigned window;  /* how many are looked at in a round */
    unsigned round;   /* from 1 on */
    unsigned padding;
};

struct Wildcards {
    const Envelope *messages; /* of the whole, in their order, and so the receives */
    const Envelope *receives;
    const Open *opens;
    unsigned *held;
    unsigned *matched;
    unsigned *pending;        /* wildcard receives, in their order: those that are settled, then the others */
    unsigned *oldest;         /* of each of a window: the message that it might take */
    const Segment *segments;  /* of the parts */
    Segment *changed;         /* of each of a window: the segment that it took a message from, or an empty one */
    unsigned *changed_in;     /* of each part: the round in which it was changed last */
    Progress *progress;
    unsigned long long seed;
    unsigned message_count, count, parts;
    unsigned window_max;      /* receives of a window at most: a power of two */
};

static __device__ inline unsigned window_of(const Wildcards &wildcards)
{
    return min(wildcards.progress->window, wildcards.count - wildcards.progress->settled);
}

/* All messages are free, nothing is changed, and the first round begins, with windows of `blockDim.x` receives. */
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
    Open open;
    unsigned name;   /* one more than its number, as in `held` */
    unsigned oldest; /* message that this block found */
    unsigned next;   /* of the same list, or NONE */
    unsigned padding;
};

/* What receives leave open: so many different masks have lists by what they do ask for. All others are in one list. */
#define MASKS 8u

/* The receives of a window in lists, so that a message looks at few of them. */
struct Wants {
    Wanted *wanted;
    unsigned *lists; /* the first of each, or NONE: `list_count` by hash, and that of all other masks */
    unsigned list_count;
    unsigned *masks; /* of each: a receive that has it, or NONE */
};

/* The list of those that ask for the same as this message, for one that leaves open what the mask says. */
static __device__ inline unsigned list_of(const Wants &wants, const Envelope &envelope, const Open &open,
                                          unsigned long long seed)
{
    return (unsigned)mixed(masked(envelope, open), seed) & (wants.list_count - 1);
}

static __device__ inline void put_into_list(const Wants &wants, unsigned at, unsigned long long seed)
{
    Wanted &own = wants.wanted[at];
    unsigned mask = 0;
    for (; mask < MASKS; mask++) {
        unsigned first = *(volatile unsigned *)(wants.masks + mask);
        if (first == NONE)
            first = atomicCAS(wants.masks + mask, NONE, at);
        if (first == NONE || is_open_same(wants.wanted[first].open, own.open))
            break;
    }
    const unsigned list = mask < MASKS ? list_of(wants, own.envelope, own.open, seed) : wants.list_count;
    own.next = atomicExch(wants.lists + list, at);
}

/* Who of a list accepts a message has found it, unless an earlier receive has it. */
static __device__ inline void offer(const Wants &wants, unsigned list, const Envelope &envelope, unsigned message,
                                    unsigned holder)
{
    for (unsigned at = wants.lists[list]; at != NONE; at = wants.wanted[at].next) {
        Wanted &own = wants.wanted[at];
        if (holder > own.name && message < *(volatile unsigned *)&own.oldest && accepts(own.envelope, own.open, envelope))
            atomicMin(&own.oldest, message);
    }
}

/* Shared memory, for each receive of the largest window: a Wanted, and two words for lists; then MASKS words and one. */
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
        wanted[at] = Wanted{wildcards.receives[receive], wildcards.opens[receive], receive + 1, NONE, NONE, 0};
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
            offer(wants, list_of(wants, envelope, wanted[wants.masks[mask]].open, wildcards.seed), envelope, message, holder);
        offer(wants, wants.list_count, envelope, message, holder);
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < window; at += blockDim.x)
        if (wanted[at].oldest != NONE)
            atomicMin(wildcards.oldest + at, wanted[at].oldest);
}

/* One block, with a thread for each receive of the largest window. Shared memory, for each of them: an envelope, a mask,
 * PLACES_PER_RECEIVE words; and three for each warp. */
extern "C" __global__ void BLOCK_OF(1024) settle_wildcards(const Wildcards wildcards)
{
    SHARED(Envelope, envelopes);
    Open *const opens = (Open *)(envelopes + blockDim.x);
    unsigned *const places = (unsigned *)(opens + blockDim.x);
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
        opens[threadIdx.x] = wildcards.opens[receive];
    }
    for (unsigned at = threadIdx.x; at < PLACES_PER_RECEIVE * blockDim.x; at += blockDim.x)
        places[at] = NONE;
    __syncthreads();
    /* Who wants a message of an envelope, or of one that has the same place, lets the earliest have it. */
    unsigned *const place = places + ((unsigned)mixed(envelope, wildcards.seed) & (PLACES_PER_RECEIVE * blockDim.x - 1));
    if (finds)
        atomicMin(place, threadIdx.x);
    __syncthreads();
    bool waits = finds && *place != threadIdx.x;
    /* So does who wants what an earlier one may take that waits, until there are no more of them. */
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
                is_new = earlier < threadIdx.x && accepts(envelopes[earlier], opens[earlier], envelope);
                waits = is_new;
            }
        __syncthreads();
    }
    if (is_there && !waits) {
        wildcards.matched[receive] = message;
        if (finds) {
            const unsigned holder = wildcards.held[message];
            wildcards.held[message] = TAKEN;
            /* Where nobody had it, nobody misses it. */
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
        /* Where most wait for others, to look at many is in vain. */
        *wildcards.progress =
            Progress{settled, 2 * left > window ? max(window / 2, WARP) : min(2 * progress.window, blockDim.x),
                     progress.round + 1, 0};
}
