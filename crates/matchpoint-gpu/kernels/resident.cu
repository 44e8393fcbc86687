/* A persistent kernel: one block that runs concurrently with the application's grid, reads batches from a
 * ring, and keeps their unmatched entries (Klenk et al. 2017, §II-C: one communication kernel on one
 * multiprocessor). Host or card fills a slot of the ring and then increments `fed`. The kernel matches the
 * slot with its unmatched entries, writes the pairs, and increments `done`. The stop flag ends the kernel
 * after all batches counted in the same word, whatever other slots contain.
 *
 * Both words are accessed whole, with the same size on both sides, 8 and 4 bytes. A 64-bit read outside of
 * PTX's memory model (ISA §8) may be two reads of 32 bits, and accesses with different sizes have no order.
 *
 *     `fed`    released by `Resident::ring_up` and `end` (src/resident.rs), or by `feed_resident`; acquired by `match_resident`
 *     `done`   released by `match_resident`; acquired by `Resident::take`, or by `feed_resident`
 *
 * One thread accesses the words for its block. Its release includes the writes of other threads before the
 * previous barrier. Reads of other threads after the next barrier follow its acquire. Causality order is
 * transitive over barriers.
 *
 * After ordered.cu and kept.h. */

/* Maximum messages, and receives, of a slot of the ring. */
#define SLOT_ENTRIES 1024u
/* In shared memory, instead of a message count: the kernel stops. */
#define STOP 0xffffffffu

/* Messages and receives in order, with their numbers from the first batch on, modulo 2^32. The host ensures
 * that unmatched entries fit. */
struct Queue {
    Envelope *messages, *receives;
    WildMask *wild_masks;
    unsigned *message_names, *receive_names;
};

struct Resident {
    /* The ring, in memory of the host or of the card, by slot. */
    const Envelope *messages;  /* [slots][SLOT_ENTRIES] */
    const Envelope *receives;
    const WildMask *wild_masks;
    const unsigned long long *counts; /* [slots]: messages in the lower half, receives in the upper half */
    unsigned *pairs;           /* [slots][2 × SLOT_ENTRIES][2]: numbers of receive and message, in posted order */
    unsigned *pair_counts;     /* [slots] */
    const unsigned long long *fed; /* submitted batches; stop flag above them */
    unsigned *done;            /* matched batches */
    /* Memory of the card. */
    Queue queues[2];           /* one is matched, and its unmatched entries move to the other */
    unsigned *matched;         /* per receive of a queue */
    unsigned *is_taken;        /* per message of a queue */
    unsigned long long seed;
    unsigned slots;
    unsigned padding;
};

/* Shared memory: as for match_ordered. One block. */
extern "C" __global__ void BLOCK_OF(1024) match_resident(const Resident resident)
{
    SHARED(unsigned long long, memory);
    const unsigned threads = blockDim.x;
    const Tables tables = tables_of(memory, threads);
    unsigned *const sums = tables.oldest;
    unsigned message_count = 0, receive_count = 0, message_name = 0, receive_name = 0;
    for (unsigned turn = 0;; turn++) {
        const Queue &queue = resident.queues[turn % 2], &rest = resident.queues[(turn + 1) % 2];
        const unsigned slot = turn % resident.slots;
        /* One thread reads for all, because access to host memory is slow. */
        if (threadIdx.x == 0) {
            unsigned long long fed;
            /* Pairs with the release of the submitter. The slot is complete. */
            while (fed = load_acquire(resident.fed), fed == turn)
                PAUSE();
            if ((unsigned)fed == turn)
                tables.message_numbers[0] = STOP;
            else
                *(unsigned long long *)tables.message_numbers = resident.counts[slot];
        }
        __syncthreads();
        const unsigned new_messages = tables.message_numbers[0], new_receives = tables.message_numbers[1];
        if (new_messages == STOP)
            return;
        for (unsigned at = threadIdx.x; at < new_messages; at += threads) {
            queue.messages[message_count + at] = resident.messages[slot * SLOT_ENTRIES + at];
            queue.message_names[message_count + at] = message_name + at;
        }
        for (unsigned at = threadIdx.x; at < new_receives; at += threads) {
            queue.receives[receive_count + at] = resident.receives[slot * SLOT_ENTRIES + at];
            queue.wild_masks[receive_count + at] = resident.wild_masks[slot * SLOT_ENTRIES + at];
            queue.receive_names[receive_count + at] = receive_name + at;
        }
        /* Unmatched entries do not match each other. */
        const unsigned old_messages = message_count, old_receives = receive_count / threads * threads;
        message_count += new_messages;
        receive_count += new_receives;
        message_name += new_messages;
        receive_name += new_receives;
        for (unsigned at = threadIdx.x; at < message_count; at += threads)
            resident.is_taken[at] = 0;
        __syncthreads();

        const Batch batch{queue.messages,   queue.receives, queue.wild_masks, nullptr,       nullptr, nullptr,
                          resident.matched, nullptr,        nullptr,     resident.seed, 0,       0};
        for (unsigned message_base = 0;; message_base += threads) {
            bool seeks = message_base + threadIdx.x < message_count;
            const Envelope message = envelope_at(queue.messages, message_base, message_count);
            const bool is_first = message_base == 0;
            unsigned receive_base = message_base + threads <= old_messages ? old_receives : 0;
            if (is_first)
                leave(batch, 0, receive_base);
            for (; receive_base < receive_count; receive_base += threads) {
                const Envelope receive = envelope_at(queue.receives, receive_base, receive_count);
                const Part part{message_base, message_count, receive_base, receive_count, is_first};
                const bool has_more = receive_base + threads < receive_count;
                bool any_seeks = true;
                if (match_part(tables, batch, part, seeks, message, receive, has_more, &any_seeks) != NONE)
                    seeks = false;
                if (!any_seeks) {
                    if (is_first)
                        leave(batch, receive_base + threads, receive_count);
                    receive_base = receive_count - threads;
                }
            }
            if (message_base + threads >= message_count)
                break;
        }

        __syncthreads();
        unsigned pairs = 0, receives_left = 0;
        for (unsigned base = 0; base < receive_count; base += threads) {
            const unsigned at = base + threadIdx.x;
            const unsigned message = at < receive_count ? resident.matched[at] : NONE;
            const unsigned pair = place_among_kept(sums, message != NONE, &pairs);
            const unsigned left = place_among_kept(sums, at < receive_count && message == NONE, &receives_left);
            if (message != NONE) {
                resident.is_taken[message] = 1;
                unsigned *const written = resident.pairs + (slot * 2 * SLOT_ENTRIES + pair) * 2;
                written[0] = queue.receive_names[at];
                written[1] = queue.message_names[message];
            } else if (at < receive_count) {
                rest.receives[left] = queue.receives[at];
                rest.wild_masks[left] = queue.wild_masks[at];
                rest.receive_names[left] = queue.receive_names[at];
            }
        }
        if (threadIdx.x == 0)
            resident.pair_counts[slot] = pairs;
        __syncthreads();
        /* Pairs with the acquire of the reader. The pairs of all threads are written, and the slot is read.
         */
        if (threadIdx.x == 0)
            store_release(resident.done, turn + 1);

        /* The pairs are published. The compaction overlaps with the submission of the next slot. */
        unsigned messages_left = 0;
        for (unsigned base = 0; base < message_count; base += threads) {
            const unsigned at = base + threadIdx.x;
            const bool is_left = at < message_count && resident.is_taken[at] == 0;
            const unsigned left = place_among_kept(sums, is_left, &messages_left);
            if (is_left) {
                rest.messages[left] = queue.messages[at];
                rest.message_names[left] = queue.message_names[at];
            }
        }
        message_count = messages_left;
        receive_count = receives_left;
        __syncthreads();
    }
}

/* Input of `feed_resident`: batches in the card's memory. */
struct Feed {
    const Envelope *messages; /* [batches][entries] */
    const Envelope *receives;
    const WildMask *wild_masks;
    Envelope *ring_messages;
    Envelope *ring_receives;
    WildMask *ring_masks;
    unsigned long long *ring_counts;
    unsigned long long *fed;
    const unsigned *done;
    unsigned batches, entries, slots, padding;
};

/* Submits batches from the card, as a block of an application's grid would, and sets the stop flag. */
extern "C" __global__ void BLOCK_OF(1024) feed_resident(const Feed feed)
{
    for (unsigned batch = 0; batch < feed.batches; batch++) {
        const unsigned slot = batch % feed.slots;
        /* Pairs with the release of the persistent kernel, which has read this slot before. */
        if (threadIdx.x == 0)
            while (batch - load_acquire(feed.done) >= feed.slots)
                PAUSE();
        __syncthreads();
        for (unsigned at = threadIdx.x; at < feed.entries; at += blockDim.x) {
            feed.ring_messages[slot * SLOT_ENTRIES + at] = feed.messages[batch * feed.entries + at];
            feed.ring_receives[slot * SLOT_ENTRIES + at] = feed.receives[batch * feed.entries + at];
            feed.ring_masks[slot * SLOT_ENTRIES + at] = feed.wild_masks[batch * feed.entries + at];
        }
        if (threadIdx.x == 0)
            feed.ring_counts[slot] = (unsigned long long)feed.entries << 32 | feed.entries;
        __syncthreads();
        /* Pairs with the acquire of the persistent kernel. The writes of all threads are included, and with
         * the last batch the stop flag. */
        const unsigned long long is_last = batch + 1 == feed.batches;
        if (threadIdx.x == 0)
            store_release(feed.fed, is_last << 32 | (batch + 1));
    }
}
