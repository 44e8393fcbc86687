/* From the words of lanes to the bytes of blocks. Only the drain comes here. */

/* Calls of one thread on their way to the file. */
struct block {
    uint8_t *bytes;
    size_t length, room;
    uint64_t calls;
    uint64_t first_ticks; /* entry of the first */
    uint64_t entered;     /* entry of the last */
    uint64_t handles[4];  /* the last communicator, request, message, address */
    bool remark_follows;  /* on the last call, in the same block: it is not written yet */
    bool tells_queues;    /* somebody may be waiting to see that */
};

#define BLOCK_BYTES ((size_t)64 << 10) /* written once it is so long: four times more packs 3 % better */

enum { HANDLE_COMM, HANDLE_REQUEST, HANDLE_MESSAGE, HANDLE_ADDRESS };

static bool block_room(struct block *block, size_t more)
{
    if (block->length + more <= block->room)
        return true;
    size_t room = 2 * block->room + more;
    uint8_t *bytes = realloc(block->bytes, room);
    if (bytes == NULL)
        return false;
    block->bytes = bytes;
    block->room = room;
    return true;
}

static inline void put_varint(struct block *block, uint64_t value)
{
    while (value >= 0x80) {
        block->bytes[block->length++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    block->bytes[block->length++] = (uint8_t)value;
}

static inline void put_svarint(struct block *block, int64_t value)
{
    put_varint(block, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline void put_handle(struct block *block, int kind, uint64_t handle)
{
    if (handle == 0) {
        put_varint(block, 0);
        return;
    }
    int64_t step = (int64_t)(handle - block->handles[kind]);
    block->handles[kind] = handle;
    put_varint(block, ((uint64_t)step << 1 ^ (uint64_t)(step >> 63)) + 1);
}

/* A status is two words: source and tag, and what the second one's top says beside the length. */
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

static const uint64_t *put_status(struct block *block, const uint64_t *at)
{
    uint64_t kind = at[1] >> STATUS_SHIFT;
    put_varint(block, kind);
    if (kind == STATUS_MESSAGE) {
        put_svarint(block, low(at[0]));
        put_svarint(block, high(at[0]));
        put_varint(block, at[1] & STATUS_BYTES);
    }
    return at + 2;
}

/* Members of a group, as runs: most groups are a few. */
static const uint64_t *put_group(struct block *block, const uint64_t *at)
{
    uint64_t count = *at++;
    const uint64_t *end = at + count;
    uint64_t runs = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            put_varint(block, runs);
        for (const uint64_t *from = at; from < end;) {
            int64_t first = (int64_t)*from;
            /* Those of other worlds are runs of their own. */
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
                put_svarint(block, first);
                put_svarint(block, step);
                put_varint(block, length);
            }
            from += length;
        }
    }
    return end;
}

/* A word is never more than 10 bytes; a group's never more than 30. */
#define BYTES_PER_WORD 30

/* Writes the record at `words`. False if there is no memory for it. */
static bool encode(struct block *block, const uint64_t *words)
{
    const struct function *function = &__start_matchpoint_functions[words[WORD_HEAD] & CODE_MASK];
    uint64_t count = words[WORD_HEAD] >> 16;
    block->remark_follows = (words[WORD_HEAD] & REMARK_FOLLOWS) != 0;
    if (!block_room(block, 8 + (count + 2) * BYTES_PER_WORD))
        return false;
    if (block->length == 0) {
        memcpy(block->bytes, &words[WORD_ENTER], 8);
        block->length = 8;
        block->first_ticks = block->entered = words[WORD_ENTER];
        memset(block->handles, 0, sizeof block->handles);
    }
    put_varint(block, words[WORD_HEAD] & CODE_MASK);
    put_varint(block, words[WORD_ENTER] - block->entered);
    put_varint(block, words[WORD_LEAVE] - words[WORD_ENTER]);
    block->entered = words[WORD_ENTER];
    if (__builtin_expect(function->name[0] == '+', 0))
        block->tells_queues |= function == &function_queues;
    else
        block->calls++;
    const uint64_t *at = words + WORD_FIELDS;
    for (const char *field = function->fields; *field != 0; field++) {
        switch (*field) {
        case 'c': put_handle(block, HANDLE_COMM, *at++); break;
        case 'q': put_handle(block, HANDLE_REQUEST, *at++); break;
        case 'm': put_handle(block, HANDLE_MESSAGE, *at++); break;
        case 'p': put_svarint(block, low(*at)); break; /* rank and tag share a word, the tag is next */
        case 'g': put_svarint(block, high(*at++)); break;
        case 'b': /* fall through: one more than the length, or 0 */
        case 'f': put_varint(block, *at++); break;
        case 'i': put_svarint(block, (int64_t)*at++); break;
        case 'S': at = put_status(block, at); break;
        case 'G': at = put_group(block, at); break;
        case 'Q': {
            uint64_t requests = *at++;
            put_varint(block, requests);
            while (requests-- > 0)
                put_handle(block, HANDLE_REQUEST, *at++);
            break;
        }
        case 'C': {
            uint64_t completions = *at++;
            int64_t expected = 0;
            put_varint(block, completions);
            while (completions-- > 0) {
                int64_t index = (int64_t)*at++;
                put_svarint(block, index - expected);
                expected = index + 1;
                at = put_status(block, at);
            }
            break;
        }
        }
    }
    if (sites_wanted)
        put_handle(block, HANDLE_ADDRESS, *at);
    return true;
}
