/* Input of every kernel: messages in arrival order, receives in posted order, and the matching rule.
 *
 * CUDA C++ without headers, so that NVRTC compiles it unchanged. For a host, emulation/simt.h defines the
 * same identifiers. */

#ifdef WIDE
/* 24 bytes: any envelope of crates/matchpoint/src/envelope.rs. */
struct Envelope {
    unsigned long long source;
    unsigned long long tag;
    unsigned context;
    unsigned padding;
};

/* 16 bytes: the wildcard mask of a receive. */
struct WildMask {
    unsigned long long ignore; /* tag bits that do not count */
    unsigned any_source;
    unsigned padding;
};
#else
/* 8 bytes: an envelope with a context, source and tag that fit (src/batch.rs). */
struct Envelope {
    unsigned long long word;
};

/* 8 bytes: bits of the word that do not count. */
struct WildMask {
    unsigned long long ignore;
};
#endif

/* A receive with its wildcard mask. */
struct Posted {
    Envelope envelope;
    WildMask wild_mask;
};

/* Ranges of messages and receives that match with each other. Ends are exclusive. */
struct alignas(16) Segment {
    unsigned message, message_end;
    unsigned receive, receive_end;
};

/* Argument of every matching kernel, the same for all blocks. */
struct Batch {
    const Envelope *messages;
    const Envelope *receives;
    const WildMask *wild_masks;             /* of receives; null without wildcards */
    const Segment *segments;
    const unsigned *message_order; /* null, or the index in the original batch of each message of a divided batch */
    const unsigned *receive_order;
    unsigned *matched;             /* for each receive of the original batch: its message, or NONE */
    unsigned *held;                /* null, or the holder of each message of the original batch: FREE, TAKEN, or receive index + 1 */
    unsigned *ledger;              /* null, or the ledger of long.cu: required for long segments */
    unsigned long long seed;
    unsigned segment_count;
    unsigned longest;              /* length of the longest side of a segment, which determines the division of work */
};

/* Index that means "no message". */
#define NONE 0xffffffffu
/* Values of `held`: no receive has the message; a wildcard receive has it for good. */
#define FREE 0xffffffffu
#define TAKEN 0u
#define WARP 32u
#define ALL 0xffffffffu

static __device__ inline bool is_same(const Envelope &one, const Envelope &other)
{
#ifdef WIDE
    return one.context == other.context && one.source == other.source && one.tag == other.tag;
#else
    return one.word == other.word;
#endif
}

static __device__ inline bool is_wild(const WildMask &wild_mask)
{
#ifdef WIDE
    return wild_mask.ignore != 0 || wild_mask.any_source != 0;
#else
    return wild_mask.ignore != 0;
#endif
}

static __device__ inline bool is_same_mask(const WildMask &one, const WildMask &other)
{
#ifdef WIDE
    return one.ignore == other.ignore && one.any_source == other.any_source;
#else
    return one.ignore == other.ignore;
#endif
}

/* The fields of an envelope that a mask compares. */
static __device__ inline Envelope masked(const Envelope &envelope, const WildMask &wild_mask)
{
    Envelope left = envelope;
#ifdef WIDE
    left.source = wild_mask.any_source != 0 ? 0 : envelope.source;
    left.tag = envelope.tag & ~wild_mask.ignore;
#else
    left.word = envelope.word & ~wild_mask.ignore;
#endif
    return left;
}

static __device__ inline bool accepts(const Envelope &receive, const WildMask &wild_mask, const Envelope &message)
{
#ifdef WIDE
    return receive.context == message.context && (wild_mask.any_source != 0 || receive.source == message.source) &&
           ((receive.tag ^ message.tag) & ~wild_mask.ignore) == 0;
#else
    return ((receive.word ^ message.word) & ~wild_mask.ignore) == 0;
#endif
}

/* Final steps of SplitMix64. */
static __device__ inline unsigned long long mixed_word(unsigned long long word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/* Hash of the whole envelope with a seed unknown to peers. Each field is mixed with the seed before the next
 * field is added. Otherwise a peer could choose fields that cancel each other for every seed. */
static __device__ inline unsigned long long mixed(const Envelope &envelope, unsigned long long seed)
{
#ifdef WIDE
    unsigned long long word = mixed_word(envelope.source + seed) + envelope.tag;
    word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93 + envelope.context;
#else
    unsigned long long word = envelope.word + seed;
#endif
    return mixed_word(word);
}

/* Part of an envelope, of `parts` parts. */
static __device__ inline unsigned part_of(const Envelope &envelope, unsigned long long seed, unsigned parts)
{
    /* The upper half, because slots within a part use the lower half. */
    return __umulhi((unsigned)(mixed(envelope, seed) >> 32), parts);
}

/* This thread's envelope of the part of a segment that starts at `base`. Undefined after the segment's end.
 */
static __device__ inline Envelope envelope_at(const Envelope *envelopes, unsigned base, unsigned end)
{
    const unsigned at = base + threadIdx.x;
    return at < end ? envelopes[at] : Envelope{};
}
