/* A kernel that stays: one block beside the application's grid, which is fed batches through a ring and keeps what they leave
 * (Klenk et al. 2017, §II-C: one communication kernel on one multiprocessor). Whoever feeds it, host or device, fills a slot
 * of the ring and then raises `fed`; the kernel matches all that it has, writes down the pairs, and raises `done`. Who has told it
 * that it is to stop has it end when all is done that was fed by then, whatever slots are full.
 *
 * Both words are moved whole, 8 and 4 bytes of their own size on either side: a 64-bit read may be two of 32 bits unless it is one of
 * PTX's memory model (ISA §8), and what one side writes in other sizes than the other reads has no order there at all.
 *
 *     `fed`    released by `Resident::ring_up` and `end` (src/resident.rs), or by `feed_resident`; acquired by `match_resident`
 *     `done`   released by `match_resident`; acquired by `Resident::take`, or by `feed_resident`
 *
 * One thread does so for its block: what others of it wrote before the barrier before is released with it, and what they read after
 * the barrier behind comes after what was acquired (causality order is transitive, over barriers too).
 *
 * After ordered.cu and kept.h. */

/* Messages, and receives, that a slot of the ring has at most. */
#define SLOT_ENTRIES 1024u
/* In shared memory, in place of a count of messages: there is no more to come. */
#define STOP 0xffffffffu

/* Messages and receives in order, and what each is called: counted from the first on, from 0 again after 2^32. Who feeds the kernel takes
 * care that no more are left than fit. */
struct Queue {
    Envelope *messages, *receives;
    Open *opens;
    unsigned *message_names, *receive_names;
};

struct Resident {
    /* The ring: memory of the host or of the card. Slot by slot. */
    const Envelope *messages;  /* [slots][SLOT_ENTRIES] */
    const Envelope *receives;
    const Open *opens;
    const unsigned long long *counts; /* [slots]: of messages, and of receives above them */
    unsigned *pairs;           /* [slots][2 × SLOT_ENTRIES][2]: receive and message by name, in the order of posting */
    unsigned *pair_counts;     /* [slots] */
    const unsigned long long *fed; /* batches that were fed; above them whether to stop */
    unsigned *done;            /* batches that were matched */
    /* Memory of the card. */
    Queue queues[2];           /* one is matched, and what is left goes to the other */
    unsigned *matched;         /* of each receive of a queue */
    unsigned *is_taken;        /* of each message of it */
    unsigned long long seed;
    unsigned slots;
    unsigned padding;
};

/* Shared memory: that of match_ordered. One block. */
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
        /* One asks for all: what lies in the host's memory is far away. */
        if (threadIdx.x == 0) {
            unsigned long long fed;
            /* Partner: whoever feeds. The slot is there with it. */
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
            queue.opens[receive_count + at] = resident.opens[slot * SLOT_ENTRIES + at];
            queue.receive_names[receive_count + at] = receive_name + at;
        }
        /* What was left before accepts nothing that was left before. */
        const unsigned old_messages = message_count, old_receives = receive_count / threads * threads;
        message_count += new_messages;
        receive_count += new_receives;
        message_name += new_messages;
        receive_name += new_receives;
        for (unsigned at = threadIdx.x; at < message_count; at += threads)
            resident.is_taken[at] = 0;
        __syncthreads();

        const Batch batch{queue.messages,   queue.receives, queue.opens, nullptr,       nullptr, nullptr,
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
                rest.opens[left] = queue.opens[at];
                rest.receive_names[left] = queue.receive_names[at];
            }
        }
        if (threadIdx.x == 0)
            resident.pair_counts[slot] = pairs;
        __syncthreads();
        /* Partner: whoever takes, or feeds. The pairs of all threads are there with it, and the slot is read. */
        if (threadIdx.x == 0)
            store_release(resident.done, turn + 1);

        /* Who waits for the pairs has them; the rest is put together while the next slot is on its way. */
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

/* What `feed` puts into the ring: batches that lie in the card's memory. */
struct Feed {
    const Envelope *messages; /* [batches][entries] */
    const Envelope *receives;
    const Open *opens;
    Envelope *ring_messages;
    Envelope *ring_receives;
    Open *ring_opens;
    unsigned long long *ring_counts;
    unsigned long long *fed;
    const unsigned *done;
    unsigned batches, entries, slots, padding;
};

/* Feeds a ring from the card: another block of it, as an application's grid would, and stops it. */
extern "C" __global__ void BLOCK_OF(1024) feed_resident(const Feed feed)
{
    for (unsigned batch = 0; batch < feed.batches; batch++) {
        const unsigned slot = batch % feed.slots;
        /* Partner: the kernel that stays. It has read what this slot had before anything else is written there. */
        if (threadIdx.x == 0)
            while (batch - load_acquire(feed.done) >= feed.slots)
                PAUSE();
        __syncthreads();
        for (unsigned at = threadIdx.x; at < feed.entries; at += blockDim.x) {
            feed.ring_messages[slot * SLOT_ENTRIES + at] = feed.messages[batch * feed.entries + at];
            feed.ring_receives[slot * SLOT_ENTRIES + at] = feed.receives[batch * feed.entries + at];
            feed.ring_opens[slot * SLOT_ENTRIES + at] = feed.opens[batch * feed.entries + at];
        }
        if (threadIdx.x == 0)
            feed.ring_counts[slot] = (unsigned long long)feed.entries << 32 | feed.entries;
        __syncthreads();
        /* Partner: the kernel that stays. What all threads wrote is there with it; whether to stop, with the last batch. */
        const unsigned long long is_last = batch + 1 == feed.batches;
        if (threadIdx.x == 0)
            store_release(feed.fed, is_last << 32 | (batch + 1));
    }
}
