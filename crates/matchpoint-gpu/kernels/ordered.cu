/* `gpu_ordered`: all of MPI's order at the speed of hashing (ours), where no receive leaves anything open.
 *
 * Without wildcards the k-th receive of an envelope gets its k-th message, and envelopes have nothing to do with each
 * other. So: every envelope finds its place in a table, whoever comes first (parallel, in any order); then receives and
 * messages are numbered within their envelope, in order; then they meet by number. Numbering is all that has an order: a
 * warp numbers 32 at a time by telling which of its lanes have the same envelope. */

/* A slot of the table: which entry stands for its envelope (messages after receives), and how many of each it has. */
struct Slot {
    unsigned stands, receives, messages, first;
};

static __device__ inline Message envelope_of(const Message *messages, const Receive *receives, unsigned receive_count,
                                             unsigned entry)
{
    if (entry >= receive_count)
        return messages[entry - receive_count];
    return Message{receives[entry].source, receives[entry].tag, receives[entry].context, 0};
}

/* Numbers entries `from` up to `end` within their slots, in order: `number[entry]`. By one warp. */
static __device__ inline void number_in_order(Slot *table, unsigned Slot::*count, const unsigned *slot_of, unsigned from,
                                              unsigned end, unsigned *number)
{
    const unsigned lane = threadIdx.x % WARP;
    for (unsigned base = from; base < end; base += WARP) {
        const unsigned entry = base + lane;
        const unsigned slot = entry < end ? slot_of[entry] : NONE;
        const unsigned same = __match_any_sync(ALL, slot);
        const unsigned leader = __ffs(same) - 1;
        unsigned before = 0;
        if (slot != NONE && lane == leader) {
            before = table[slot].*count;
            table[slot].*count = before + __popc(same);
        }
        before = __shfl_sync(ALL, before, leader);
        if (slot != NONE)
            number[entry] = before + __popc(same & ((1u << lane) - 1));
        __syncwarp();
    }
}

/* One block of two warps at least. `table` has `slots` slots, more than there are entries; `slot_of` and `number` a word for
 * each entry; `queued` one for each receive. Words of shared memory: one for each thread. */
extern "C" __global__ void match_ordered(const Message *messages, unsigned message_count, const Receive *receives,
                                         unsigned receive_count, unsigned seed, Slot *table, unsigned slots,
                                         unsigned *slot_of, unsigned *number, unsigned *queued, unsigned *matched)
{
    SHARED(unsigned, sums);
    const unsigned entries = receive_count + message_count, warp = threadIdx.x / WARP;
    for (unsigned at = threadIdx.x; at < slots; at += blockDim.x)
        table[at] = Slot{NONE, 0, 0, 0};
    for (unsigned at = threadIdx.x; at < receive_count; at += blockDim.x)
        matched[at] = NONE;
    __syncthreads();

    /* Slots only ever go from free to taken, so all of one envelope stop at the same. */
    for (unsigned entry = threadIdx.x; entry < entries; entry += blockDim.x) {
        const Message own = envelope_of(messages, receives, receive_count, entry);
        unsigned slot = hash(own.context, own.source, own.tag, seed) % slots;
        for (;; slot = slot + 1 == slots ? 0 : slot + 1) {
            const unsigned stands = atomicCAS(&table[slot].stands, NONE, entry);
            if (stands == NONE)
                break;
            const Message other = envelope_of(messages, receives, receive_count, stands);
            if (other.context == own.context && other.source == own.source && other.tag == own.tag)
                break;
        }
        slot_of[entry] = slot;
    }
    __syncthreads();

    if (warp == 0)
        number_in_order(table, &Slot::receives, slot_of, 0, receive_count, number);
    if (warp == 1)
        number_in_order(table, &Slot::messages, slot_of, receive_count, entries, number);
    __syncthreads();

    /* Where the receives of each slot begin: each thread adds up a stretch of slots, and then those before it. */
    const unsigned stretch = (slots + blockDim.x - 1) / blockDim.x;
    const unsigned from = min(threadIdx.x * stretch, slots), end = min(from + stretch, slots);
    unsigned sum = 0;
    for (unsigned at = from; at < end; at++)
        sum += table[at].receives;
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned reach = 1; reach < blockDim.x; reach *= 2) {
        const unsigned before = threadIdx.x >= reach ? sums[threadIdx.x - reach] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    unsigned first = sums[threadIdx.x] - sum;
    for (unsigned at = from; at < end; at++) {
        table[at].first = first;
        first += table[at].receives;
    }
    __syncthreads();

    for (unsigned receive = threadIdx.x; receive < receive_count; receive += blockDim.x)
        queued[table[slot_of[receive]].first + number[receive]] = receive;
    __syncthreads();
    for (unsigned message = threadIdx.x; message < message_count; message += blockDim.x) {
        const unsigned entry = receive_count + message;
        const Slot slot = table[slot_of[entry]];
        if (number[entry] < slot.receives)
            matched[queued[slot.first + number[entry]]] = message;
    }
}
