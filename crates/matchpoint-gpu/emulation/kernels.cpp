/* The kernels, compiled for a host, behind functions that Rust calls. Each gives false if threads waited for each other in
 * vain. */
#include "simt.h"

#include "../kernels/batch.h"

#include "../kernels/matrix.cu"

#include "../kernels/hash.cu"

#include "../kernels/ordered.cu"

/* Runs a kernel: its arguments travel through a closure. */
template <typename Kernel>
static bool run(unsigned blocks, unsigned threads, unsigned shared_words, unsigned long long seed, Kernel kernel)
{
    const auto body = [](const void *arguments) { (*static_cast<const Kernel *>(arguments))(); };
    return simt::launch(blocks, threads, shared_words * 4, seed, body, &kernel);
}

extern "C" bool emulate_matrix(unsigned blocks, unsigned threads, unsigned long long order, const Message *messages,
                               const unsigned *message_order, const Receive *receives, const unsigned *receive_order,
                               const Segment *segments, unsigned *matched)
{
    return run(blocks, threads, 2 * threads / WARP * WINDOW, order,
               [=] { match_matrix(messages, message_order, receives, receive_order, segments, matched); });
}

extern "C" bool emulate_hash(unsigned threads, unsigned long long order, const Message *messages, unsigned message_count,
                             const Receive *receives, unsigned receive_count, unsigned seed, unsigned *table,
                             unsigned secondary, unsigned *placed, unsigned *done, unsigned *matched)
{
    return run(1, threads, 1, order, [=] {
        match_hash(messages, message_count, receives, receive_count, seed, table, secondary, placed, done, matched);
    });
}

extern "C" bool emulate_ordered(unsigned threads, unsigned long long order, const Message *messages, unsigned message_count,
                                const Receive *receives, unsigned receive_count, unsigned seed, Slot *table,
                                unsigned slots, unsigned *slot_of, unsigned *number, unsigned *queued, unsigned *matched)
{
    return run(1, threads, threads, order, [=] {
        match_ordered(messages, message_count, receives, receive_count, seed, table, slots, slot_of, number, queued,
                      matched);
    });
}
