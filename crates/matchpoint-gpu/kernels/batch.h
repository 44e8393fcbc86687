/* What every kernel is given: messages in the order of arrival, receives in the order of posting, and the rule.
 *
 * CUDA C++ that needs no header, so that NVRTC compiles it as it is; emulation/simt.h has the same words for a host. */

#ifdef WIDE
/* 24 bytes: any envelope of crates/matchpoint/src/envelope.rs. */
struct Envelope {
    unsigned long long source;
    unsigned long long tag;
    unsigned context;
    unsigned padding;
};

/* 16 bytes: what a receive leaves open. */
struct Open {
    unsigned long long ignore; /* bits of the tag that do not count */
    unsigned any_source;
    unsigned padding;
};
#else
/* 8 bytes: an envelope whose context, source and tag fit (src/layout.rs). */
struct Envelope {
    unsigned long long word;
};

/* 8 bytes: bits of the word that do not count. */
struct Open {
    unsigned long long ignore;
};
#endif

/* A receive, all of it. */
struct Posted {
    Envelope envelope;
    Open open;
};

/* What is matched with each other: from, and up to but without. */
struct alignas(16) Segment {
    unsigned message, message_end;
    unsigned receive, receive_end;
};

/* What a kernel that matches is given, each thread block all of it. */
struct Batch {
    const Envelope *messages;
    const Envelope *receives;
    const Open *opens;             /* of receives; null where none leaves anything open */
    const Segment *segments;
    const unsigned *message_order; /* null, or which message of the whole each is, where segments were gathered */
    const unsigned *receive_order;
    unsigned *matched;             /* of each receive of the whole: its message, or NONE */
    unsigned *held;                /* null, or who has each message of the whole: FREE, TAKEN, or one more than the receive */
    unsigned *ledger;              /* null, or of each receive what long.cu has: needed where segments are long */
    unsigned long long seed;
    unsigned segment_count;
    unsigned longest;              /* messages or receives of a segment at most: how work is divided goes by it */
};

/* In place of a message: none. */
#define NONE 0xffffffffu
/* In `held`: no receive has the message; a wildcard receive has it, and nobody else may take it. */
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

static __device__ inline bool is_wild(const Open &open)
{
#ifdef WIDE
    return open.ignore != 0 || open.any_source != 0;
#else
    return open.ignore != 0;
#endif
}

static __device__ inline bool is_open_same(const Open &one, const Open &other)
{
#ifdef WIDE
    return one.ignore == other.ignore && one.any_source == other.any_source;
#else
    return one.ignore == other.ignore;
#endif
}

/* What is left of an envelope for a receive that leaves so much open. */
static __device__ inline Envelope masked(const Envelope &envelope, const Open &open)
{
    Envelope left = envelope;
#ifdef WIDE
    left.source = open.any_source != 0 ? 0 : envelope.source;
    left.tag = envelope.tag & ~open.ignore;
#else
    left.word = envelope.word & ~open.ignore;
#endif
    return left;
}

static __device__ inline bool accepts(const Envelope &receive, const Open &open, const Envelope &message)
{
#ifdef WIDE
    return receive.context == message.context && (open.any_source != 0 || receive.source == message.source) &&
           ((receive.tag ^ message.tag) & ~open.ignore) == 0;
#else
    return ((receive.word ^ message.word) & ~open.ignore) == 0;
#endif
}

/* SplitMix64's last steps. */
static __device__ inline unsigned long long mixed_word(unsigned long long word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/* Of all of an envelope, and of a seed that a peer does not know. Nothing of an envelope meets another part of it before the seed has:
 * who chooses both could make them cancel each other, whatever the seed. */
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

/* Of so many parts that a batch is divided into, the one that an envelope belongs to. */
static __device__ inline unsigned part_of(const Envelope &envelope, unsigned long long seed, unsigned parts)
{
    /* From the upper half: slots within a part are of the lower. */
    return __umulhi((unsigned)(mixed(envelope, seed) >> 32), parts);
}

/* The envelope of this thread in the part of a segment that begins at `base`: nothing of interest behind its end. */
static __device__ inline Envelope envelope_at(const Envelope *envelopes, unsigned base, unsigned end)
{
    const unsigned at = base + threadIdx.x;
    return at < end ? envelopes[at] : Envelope{};
}
