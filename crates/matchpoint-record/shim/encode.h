/* Conversion of records to bytes of blocks, in the drain. */

/* Calls of one thread, before they are written. */
struct block {
    uint8_t *bytes; /* functions and their fields */
    size_t length, room;
    uint8_t *times; /* times of the same calls, separate: see below */
    size_t times_length, times_room;
    uint64_t calls;
    uint64_t first_ticks;   /* entry of the first call */
    uint64_t entered;       /* entry of the last call */
    uint64_t handles[4];    /* the last communicator, request, message, address */
    bool remark_follows;    /* a remark on the last call follows, so the block is not written yet */
    bool has_queues_remark; /* the block has queue lengths, for which a reader may wait */
};

#define BLOCK_BYTES ((size_t)64 << 10) /* length of a full block. Blocks of four times this length compress 3 % better */

enum { HANDLE_COMM, HANDLE_REQUEST, HANDLE_MESSAGE, HANDLE_ADDRESS };

/* Bytes before the calls: the first call's ticks, and the position of the times. */
#define BLOCK_AHEAD 12

static bool bytes_room(uint8_t **bytes, size_t length, size_t *room, size_t more)
{
    if (__builtin_expect(length + more <= *room, 1))
        return true;
    uint8_t *longer = realloc(*bytes, 2 * *room + more);
    if (longer == NULL)
        return false;
    *bytes = longer;
    *room = 2 * *room + more;
    return true;
}

static size_t block_length(const struct block *block)
{
    return block->length + block->times_length;
}

/* Appends the times to the fields. Fields repeat and times do not: separate parts compress better, in half the time. */
static bool block_join(struct block *block)
{
    if (!bytes_room(&block->bytes, block->length, &block->room, block->times_length))
        return false;
    uint32_t where = (uint32_t)block->length;
    for (int byte = 0; byte < 4; byte++)
        block->bytes[8 + byte] = (uint8_t)(where >> 8 * byte);
    memcpy(block->bytes + block->length, block->times, block->times_length);
    return true;
}

/* Bytes are written through a local pointer, not through the block: a store of a byte may change the block's fields,
 * so the compiler would reload the address after each store. The reloads took half of the drain's time without
 * compression. */

static inline uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    while (__builtin_expect(value >= 0x80, 0)) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

static inline uint8_t *put_svarint(uint8_t *to, int64_t value)
{
    return put_varint(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline uint8_t *put_handle(uint8_t *to, struct block *block, int kind, uint64_t handle)
{
    if (handle == 0)
        return put_varint(to, 0);
    int64_t step = (int64_t)(handle - block->handles[kind]);
    block->handles[kind] = handle;
    return put_varint(to, ((uint64_t)step << 1 ^ (uint64_t)(step >> 63)) + 1);
}

/* A status is two words. The top bits of the second word are the kind, the others the length. */
enum { STATUS_NONE, STATUS_MESSAGE, STATUS_CANCELLED, STATUS_EMPTY };
#define STATUS_SHIFT 62
#define STATUS_BYTES (((uint64_t)1 << STATUS_SHIFT) - 1)

static inline int32_t low(uint64_t word)
{
    return (int32_t)(uint32_t)word;
}

static inline int32_t high(uint64_t word)
{
    return (int32_t)(word >> 32);
}

static inline uint8_t *put_status(uint8_t *to, const uint64_t *at)
{
    uint64_t kind = at[1] >> STATUS_SHIFT;
    to = put_varint(to, kind);
    if (kind == STATUS_MESSAGE) {
        to = put_svarint(to, low(at[0]));
        to = put_svarint(to, high(at[0]));
        to = put_varint(to, at[1] & STATUS_BYTES);
    }
    return to;
}

/* Writes the members of a group as runs, after their number. Most groups have few runs. */
static uint8_t *put_group(uint8_t *to, const uint64_t *at)
{
    const uint64_t *end = at + 1 + at[0];
    at++;
    uint64_t runs = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            to = put_varint(to, runs);
        for (const uint64_t *from = at; from < end;) {
            int64_t first = (int64_t)*from;
            /* Members of other worlds are separate runs. */
            int64_t step = first >= 0 && from + 1 < end ? (int64_t)from[1] - first : 0;
            uint64_t length = 1;
            while (from + length < end && (int64_t)from[length] == first + (int64_t)length * step &&
                   ((int64_t)from[length] < 0) == (first < 0))
                length++;
            if (first >= 0 && length == 1)
                step = 1;
            if (pass == 0) {
                runs++;
            } else {
                to = put_svarint(to, first);
                to = put_svarint(to, step);
                to = put_varint(to, length);
            }
            from += length;
        }
    }
    return to;
}

/* A word has at most 10 bytes; a word of a group at most 30. */
#define BYTES_PER_WORD 30

/* Writes the record at `words`. False: no memory. */
static bool encode(struct block *block, const uint64_t *words)
{
    const struct function *function = function_of(words[WORD_HEAD] & CODE_MASK);
    uint64_t count = words[WORD_HEAD] >> 16;
    block->remark_follows = (words[WORD_HEAD] & REMARK_FOLLOWS) != 0;
    if (!bytes_room(&block->bytes, block->length, &block->room, BLOCK_AHEAD + (count + 2) * BYTES_PER_WORD) ||
        !bytes_room(&block->times, block->times_length, &block->times_room, 2 * BYTES_PER_WORD))
        return false;
    if (block->length == 0) {
        memcpy(block->bytes, &words[WORD_ENTER], 8);
        block->length = BLOCK_AHEAD;
        block->times_length = 0;
        block->first_ticks = block->entered = words[WORD_ENTER];
        memset(block->handles, 0, sizeof block->handles);
    }
    uint8_t *to = block->bytes + block->length;
    to = put_varint(to, words[WORD_HEAD] & CODE_MASK);
    uint8_t *times = block->times + block->times_length;
    times = put_varint(times, words[WORD_ENTER] - block->entered);
    /* If a clock goes back, for example between processors, the duration is 0. Readers would read a negative duration
     * as centuries. */
    times = put_varint(times, words[WORD_LEAVE] > words[WORD_ENTER] ? words[WORD_LEAVE] - words[WORD_ENTER] : 0);
    block->times_length = (size_t)(times - block->times);
    block->entered = words[WORD_ENTER];
    if (__builtin_expect(function->name[0] == '+', 0))
        block->has_queues_remark |= function == &function_queues;
    else
        block->calls++;
    const uint64_t *at = words + WORD_FIELDS;
    for (const char *field = function->fields; *field != 0; field++) {
        switch (*field) {
        case 'c': to = put_handle(to, block, HANDLE_COMM, *at++); break;
        case 'q': to = put_handle(to, block, HANDLE_REQUEST, *at++); break;
        case 'm': to = put_handle(to, block, HANDLE_MESSAGE, *at++); break;
        case 'p': to = put_svarint(to, low(*at)); break; /* rank and tag share a word; the tag is next */
        case 'g': to = put_svarint(to, high(*at++)); break;
        case 'b': /* fall through: length plus one, or 0 */
        case 'f': to = put_varint(to, *at++); break;
        case 'i': to = put_svarint(to, (int64_t)*at++); break;
        case 'S':
            to = put_status(to, at);
            at += 2;
            break;
        case 'G':
            to = put_group(to, at);
            at += 1 + at[0];
            break;
        case 'Q': {
            uint64_t requests = *at++;
            to = put_varint(to, requests);
            while (requests-- > 0)
                to = put_handle(to, block, HANDLE_REQUEST, *at++);
            break;
        }
        case 'C': {
            uint64_t completions = *at++;
            int64_t expected = 0;
            to = put_varint(to, completions);
            for (; completions > 0; completions--, at += 3) {
                int64_t index = (int64_t)at[0];
                to = put_svarint(to, index - expected);
                expected = index + 1;
                to = put_status(to, at + 1);
            }
            break;
        }
        }
    }
    if (hot_state.sites_wanted)
        to = put_handle(to, block, HANDLE_ADDRESS, *at);
    block->length = (size_t)(to - block->bytes);
    return true;
}
