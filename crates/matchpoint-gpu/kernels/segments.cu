/* `gpu_ordered`, one block per segment. If a segment is longer than a block has threads, the parts of the
 * messages, oldest first, are matched with the parts of the receives, oldest first. The result is the same:
 * every receive prefers messages of an earlier part, and the remaining messages of a part depend only on
 * earlier receives. The block leaves a part of the messages when all have a receive, and skips a part of the
 * receives when all have a message. For very many parts: long.cu.
 *
 * After ordered.cu and long.cu. */

/* With HOLDS, records the holder of each message and skips taken messages. */
template <bool HOLDS> static __device__ inline void match_segments(const Batch &batch)
{
    SHARED(unsigned long long, memory);
    const unsigned threads = blockDim.x;
    const Tables tables = tables_of(memory, threads);
    if (blockIdx.x >= batch.segment_count)
        return;
    Segment next = batch.segments[blockIdx.x];
    Envelope next_message = envelope_at(batch.messages, next.message, next.message_end);
    Envelope next_receive = envelope_at(batch.receives, next.receive, next.receive_end);

    for (unsigned index = blockIdx.x; index < batch.segment_count; index += gridDim.x) {
        const Segment segment = next;
        const Envelope first_message = next_message, first_receive = next_receive;
        /* Prefetched; needed after this segment. */
        const unsigned following = index + gridDim.x;
        if (following < batch.segment_count) {
            next = batch.segments[following];
            next_message = envelope_at(batch.messages, next.message, next.message_end);
            next_receive = envelope_at(batch.receives, next.receive, next.receive_end);
        }
        if (batch.ledger && is_long(segment)) {
            match_long<HOLDS>(tables, batch, segment);
            __syncthreads();
            continue;
        }
        for (unsigned message_base = segment.message;; message_base += threads) {
            const bool is_first = message_base == segment.message;
            bool seeks = message_base + threadIdx.x < segment.message_end;
            const Envelope message = is_first ? first_message : envelope_at(batch.messages, message_base, segment.message_end);
            unsigned *held = nullptr;
            if (HOLDS && seeks) {
                held = batch.held + batch.message_order[message_base + threadIdx.x];
                seeks = *held != TAKEN;
            }
            unsigned holder = seeks ? FREE : TAKEN;
            bool any_seeks = true;
            for (unsigned receive_base = segment.receive; receive_base < segment.receive_end; receive_base += threads) {
                const Envelope receive = is_first && receive_base == segment.receive
                                             ? first_receive
                                             : envelope_at(batch.receives, receive_base, segment.receive_end);
                const Part part{message_base, segment.message_end, receive_base, segment.receive_end, is_first};
                const bool has_more = receive_base + threads < segment.receive_end;
                const unsigned got = match_part(tables, batch, part, seeks, message, receive, HOLDS || has_more, &any_seeks);
                if (got != NONE) {
                    seeks = false;
                    if (HOLDS)
                        holder = batch.receive_order[got] + 1;
                }
                if (!any_seeks) { /* no `break`, with which registers spill to memory */
                    if (is_first)
                        leave(batch, receive_base + threads, segment.receive_end);
                    receive_base = segment.receive_end - threads;
                }
            }
            if (HOLDS && held)
                *held = holder;
            if (message_base + threads >= segment.message_end)
                break;
        }
    }
}

/* Shared memory: `Tables`. Threads: a power of two, at least 64. */
extern "C" __global__ void BLOCK_OF(1024) match_ordered(const Batch batch)
{
    match_segments<false>(batch);
}

/* The same for the segments of a divided batch. Wildcard receives are in none of them (wild.cu). */
extern "C" __global__ void BLOCK_OF(1024) match_held(const Batch batch)
{
    match_segments<true>(batch);
}
