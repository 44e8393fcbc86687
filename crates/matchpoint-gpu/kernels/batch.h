/* What every kernel is given: messages in the order of arrival, receives in the order of posting, and the rule.
 *
 * CUDA C++ that needs no header, so that NVRTC compiles it as it is; emulation/simt.h has the same words for a host. */

/* 24 bytes: the envelope of crates/matchpoint/src/envelope.rs. */
struct Message {
    unsigned long long source;
    unsigned long long tag;
    unsigned context;
    unsigned padding;
};

/* 32 bytes: the selector. */
struct Receive {
    unsigned long long source;
    unsigned long long tag;
    unsigned long long ignore; /* bits of the tag that do not count */
    unsigned context;
    unsigned any_source;
};

/* The messages and receives that one block matches with each other: from, and up to but without. */
struct Segment {
    unsigned message, message_end;
    unsigned receive, receive_end;
};

/* In place of a message: none. */
#define NONE 0xffffffffu
#define WARP 32u
#define ALL 0xffffffffu

static __device__ inline bool accepts(const Receive &receive, const Message &message)
{
    return receive.context == message.context && (receive.any_source != 0 || receive.source == message.source) &&
           ((receive.tag ^ message.tag) & ~receive.ignore) == 0;
}

/* Jenkins' function of six shifts, which the paper chose (§VI-C). */
static __device__ inline unsigned jenkins(unsigned key)
{
    key = (key + 0x7ed55d16) + (key << 12);
    key = (key ^ 0xc761c23c) ^ (key >> 19);
    key = (key + 0x165667b1) + (key << 5);
    key = (key + 0xd3a2646c) ^ (key << 9);
    key = (key + 0xfd7046c5) + (key << 3);
    return (key ^ 0xb55a4f09) ^ (key >> 16);
}

static __device__ inline unsigned hash(unsigned context, unsigned long long source, unsigned long long tag, unsigned seed)
{
    unsigned key = jenkins(context ^ seed);
    key = jenkins(key ^ (unsigned)source);
    key = jenkins(key ^ (unsigned)(source >> 32));
    key = jenkins(key ^ (unsigned)tag);
    return jenkins(key ^ (unsigned)(tag >> 32));
}
